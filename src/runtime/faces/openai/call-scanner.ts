/** What a piece of a call told. */
export interface CallNews {
  name?: string;
  /** More of the arguments, as JSON text. */
  arguments?: string;
}

/** `open`: more is needed; `called`: the call is complete; `no-call`: the text is something else. */
export type CallState = 'open' | 'called' | 'no-call';

/** Members that families have for the same thing: Hermes and Mistral write `arguments`, Llama 3 `parameters`. */
const ARGUMENTS: ReadonlySet<string> = new Set(['arguments', 'parameters']);

/**
 * Reads one object `{"name": ..., "arguments": {...}}` character by character, and gives its arguments as they come, once the name is
 * known. The arguments stay the text that the model wrote.
 */
export class CallScanner {
  state: CallState = 'open';
  /** Everything that was taken. */
  text = '';
  name: string | undefined;
  readonly #isTool: (name: string) => boolean;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #stringStart = 0;
  #expectsKey = false;
  #key = '';
  #valueStart = 0;
  /** Where in `text` the arguments lie; the end is -1 while they go on. */
  #args: { start: number; end: number } | undefined;
  /** Up to where they were given. */
  #given = 0;

  /** @param isTool whether a name is one that is meant; of another one, the object is no call */
  constructor(isTool: (name: string) => boolean) {
    this.#isTool = isTool;
  }

  /** The arguments are complete. */
  get hasArguments(): boolean {
    return this.#args !== undefined && this.#args.end !== -1;
  }

  /** Takes characters until the object ends. @returns how many were taken, and what they told */
  push(piece: string): { taken: number; news: CallNews } {
    const wasNamed = this.name !== undefined;
    let taken = 0;
    while (taken < piece.length && this.state === 'open') this.#take(piece.charAt(taken++));
    const news: CallNews = {};
    if (this.name !== undefined && this.state !== 'no-call') {
      if (!wasNamed) news.name = this.name;
      const more = this.#newArguments();
      if (more !== '') news.arguments = more;
    }
    return { taken, news };
  }

  #take(char: string): void {
    const at = this.text.length;
    this.text += char;
    if (this.#inString) this.#takeInString(char);
    else if (char === '"') {
      this.#inString = true;
      this.#stringStart = at;
    } else if (char === '{' || char === '[') {
      if (this.#depth === 0 && char === '[') this.state = 'no-call';
      this.#depth += 1;
      if (this.#depth === 1) this.#expectsKey = true;
    } else if (char === '}' || char === ']') this.#close(at);
    else if (this.#depth === 0) this.state = 'no-call';
    else if (this.#depth === 1 && char === ':') this.#beginValue(at + 1);
    else if (this.#depth === 1 && char === ',') this.#endValue(at);
  }

  #takeInString(char: string): void {
    if (this.#escaped) this.#escaped = false;
    else if (char === '\\') this.#escaped = true;
    else if (char === '"') {
      this.#inString = false;
      if (this.#depth === 1 && this.#expectsKey) this.#key = this.text.slice(this.#stringStart + 1, -1);
    }
  }

  #close(at: number): void {
    this.#depth -= 1;
    if (this.#depth === 1 && this.#args?.end === -1) this.#args.end = at + 1;
    if (this.#depth > 0) return;
    this.#endValue(at);
    if (this.state === 'open') this.state = this.name === undefined ? 'no-call' : 'called';
  }

  #beginValue(start: number): void {
    this.#expectsKey = false;
    this.#valueStart = start;
    if (ARGUMENTS.has(this.#key)) this.#args ??= { start, end: -1 };
  }

  #endValue(at: number): void {
    if (this.#expectsKey) return;
    this.#expectsKey = true;
    if (this.#key === 'name' || (this.#key === 'function' && this.name === undefined)) this.#readName(at);
    else if (this.#args?.end === -1) this.#args.end = at;
  }

  #readName(at: number): void {
    const value = parsed(this.text.slice(this.#valueStart, at));
    if (typeof value !== 'string' || !this.#isTool(value)) this.state = 'no-call';
    else this.name = value;
  }

  #newArguments(): string {
    if (!this.#args) return this.state === 'called' && this.#given === 0 ? this.#giveOnce('{}') : '';
    const { start, end } = this.#args;
    const value = this.text.slice(start, end === -1 ? undefined : end).trimStart();
    if (value.startsWith('{')) {
      const more = value.slice(this.#given);
      this.#given += more.length;
      return more;
    }
    if (end === -1 || this.#given > 0) return '';
    // Some models write the arguments as a string that holds JSON, or null.
    const whole = parsed(value);
    return this.#giveOnce(typeof whole === 'string' ? whole : whole === null ? '{}' : value.trim());
  }

  #giveOnce(text: string): string {
    this.#given = text.length;
    return text;
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
