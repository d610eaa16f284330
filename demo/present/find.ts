/** An element that the page has; throws where it was forgotten. */
export function find<Tag extends keyof HTMLElementTagNameMap>(
  root: ParentNode,
  selector: Tag | `${Tag}#${string}`,
): HTMLElementTagNameMap[Tag] {
  const found = root.querySelector<HTMLElementTagNameMap[Tag]>(selector);
  if (!found) throw new TypeError(`Cannot start the page: it has no ${selector}`);
  return found;
}
