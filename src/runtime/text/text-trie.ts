interface TrieNode {
  children: Map<number, TrieNode>;
  /** Index of the text that ends here; -1 if none does. */
  index: number;
}

/** Finds which of a fixed set of texts begin at a position; cost is the length of the match, not the size of the set. */
export class TextTrie {
  readonly #root: TrieNode = { children: new Map(), index: -1 };

  /** @param texts the first of equal texts keeps its index; empty ones are never found */
  constructor(texts: readonly string[]) {
    texts.forEach((text, index) => {
      if (text.length > 0) this.#add(text, index);
    });
  }

  /** Index of the longest text that begins at `position`, or -1. */
  longestAt(text: string, position: number): number {
    let longest = -1;
    this.#walk(text, position, (index) => (longest = index));
    return longest;
  }

  /** True if the rest of `text` from `position` is the beginning of one of the texts, or all of it. */
  isBeginningAt(text: string, position: number): boolean {
    let node: TrieNode | undefined = this.#root;
    for (let i = position; i < text.length && node !== undefined; i++) node = node.children.get(text.charCodeAt(i));
    return node !== undefined && position < text.length;
  }

  /** Indices of all texts that occur anywhere in `text`, overlapping ones too. */
  occurringIn(text: string): Set<number> {
    const found = new Set<number>();
    for (let position = 0; position < text.length; position++) {
      this.#walk(text, position, (index) => found.add(index));
    }
    return found;
  }

  #add(text: string, index: number): void {
    let node = this.#root;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      let child = node.children.get(unit);
      if (child === undefined) {
        child = { children: new Map(), index: -1 };
        node.children.set(unit, child);
      }
      node = child;
    }
    if (node.index === -1) node.index = index;
  }

  #walk(text: string, position: number, visit: (index: number) => void): void {
    let node = this.#root.children.get(text.charCodeAt(position));
    for (let i = position + 1; node !== undefined; i++) {
      if (node.index !== -1) visit(node.index);
      node = node.children.get(text.charCodeAt(i)); // NaN past the end is never a key
    }
  }
}
