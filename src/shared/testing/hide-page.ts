/** Hides the page, as far as it can be told from inside, until the returned function is called. */
export function hidePage(): () => void {
  const set = (state: DocumentVisibilityState): void => {
    const [visibilityState, hidden] = [state, state === 'hidden'];
    Object.defineProperty(document, 'visibilityState', { value: visibilityState, configurable: true });
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  };
  set('hidden');
  return () => {
    set('visible');
    Reflect.deleteProperty(document, 'visibilityState');
    Reflect.deleteProperty(document, 'hidden');
  };
}
