/** What the user chose; `system` follows `prefers-color-scheme`. */
type Theme = 'system' | 'light' | 'dark';

const KEY = 'tokenglass-theme';
const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
const ICONS: Readonly<Record<Theme, string>> = {
  system: '<circle cx="12" cy="12" r="8.5"/><path d="M12 3.5a8.5 8.5 0 0 1 0 17z" fill="currentColor"/>',
  light:
    '<circle cx="12" cy="12" r="4"/><path d="M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4"/>',
  dark: '<path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z"/>',
};

const isTheme = (value: string | undefined): value is Theme => value !== undefined && value in NEXT;

/** Makes a button go round through system, light and dark; the choice is kept on this device. */
export function wireTheme(button: HTMLButtonElement): void {
  const root = document.documentElement;
  const stored = root.dataset['theme'];
  show(button, isTheme(stored) ? stored : 'system');
  button.addEventListener('click', () => {
    const current = root.dataset['theme'];
    const next = NEXT[isTheme(current) ? current : 'system'];
    if (next === 'system') delete root.dataset['theme'];
    else root.dataset['theme'] = next;
    remember(next);
    show(button, next);
  });
}

function show(button: HTMLButtonElement, theme: Theme): void {
  button.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true">${ICONS[theme]}</svg>`;
  const name = theme === 'system' ? 'as the system' : theme;
  button.setAttribute('aria-label', `Theme: ${name}`);
  button.title = `Theme: ${name}`;
}

function remember(theme: Theme): void {
  try {
    if (theme === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Storage is refused in some private windows; the choice then holds for this page only.
  }
}
