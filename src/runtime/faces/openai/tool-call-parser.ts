import type { ToolCallDelta } from './chat-shapes.ts';
import { CallScanner, type CallNews } from './call-scanner.ts';
import { heldLength } from './reasoning-splitter.ts';

/** Text of an answer, apart from the tools that it calls. */
export interface ToolText {
  content: string;
  calls: ToolCallDelta[];
}

const HERMES_OPEN = '<tool_call>';
const HERMES_CLOSE = '</tool_call>';
/** Marks before calls; where they are control tokens of a vocabulary, they do not show and the calls stand bare. */
const MARKS = [HERMES_OPEN, '[TOOL_CALLS]', '<|python_tag|>'];
const ARGS_MARK = '[ARGS]';

type Mode =
  /** Nothing but space so far: a bare call may come. */
  | { name: 'head' }
  | { name: 'text' }
  /** Between calls, or before the first; `raw` is what to show if none comes. */
  | { name: 'between'; style: Style; raw: string }
  /** `raw`: what of the text stands before the object. */
  | { name: 'call'; style: Style; scanner: CallScanner; raw: string }
  | { name: 'closing' };

/** `hermes`: between tags; `bare`: objects alone, in a list, or one after the other; `direct`: a name and then its arguments. */
type Style = 'hermes' | 'bare' | 'direct';

/**
 * Finds the calls in an answer while it streams, in the ways of the known families: `<tool_call>{...}</tool_call>` (Hermes, Qwen),
 * `{"name": ..., "parameters": {...}}` (Llama 3), `[TOOL_CALLS][{...}]` and `[TOOL_CALLS]name{...}` (Mistral). Objects that stand bare are calls only
 * if they name one of the tools; text that turns out to be no call is content.
 */
export class ToolCallParser {
  readonly #names: ReadonlySet<string>;
  readonly #single: boolean;
  readonly #newId: () => string;
  #mode: Mode = { name: 'head' };
  #held = '';
  #calls = 0;

  /** @param single leaves out every call but the first */
  constructor(names: readonly string[], single = false, newId: () => string = randomCallId) {
    this.#names = new Set(names);
    this.#single = single;
    this.#newId = newId;
  }

  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  push(piece: string): ToolText {
    const out: ToolText = { content: '', calls: [] };
    this.#held += piece;
    while (this.#step(out));
    return out;
  }

  /** What was held back, when nothing follows. A call that was told already stays as far as it came. */
  flush(): ToolText {
    const mode = this.#mode;
    const content = this.#unfinished(mode) + this.#held;
    this.#mode = { name: 'text' };
    this.#held = '';
    // What closes a call or a list of them is no content.
    const isRest = mode.name === 'closing' || (mode.name === 'between' && this.hasCalls);
    return { content: isRest ? '' : this.hasCalls ? content.trimEnd() : content, calls: [] };
  }

  #unfinished(mode: Mode): string {
    if (mode.name === 'between') return mode.raw;
    if (mode.name !== 'call' || mode.scanner.name !== undefined) return '';
    return mode.raw + mode.scanner.text;
  }

  /** @returns whether there may be more to do with what is held */
  #step(out: ToolText): boolean {
    const mode = this.#mode;
    if (mode.name === 'head') return this.#readHead(out);
    if (mode.name === 'text') return this.#readText(out);
    if (mode.name === 'between') return this.#readBetween(mode, out);
    if (mode.name === 'call') return this.#readCall(mode, out);
    return this.#readClosing();
  }

  #readHead(out: ToolText): boolean {
    const head = this.#held.trimStart();
    if (head === '') return false;
    const mark = MARKS.find((candidate) => head.startsWith(candidate));
    if (mark !== undefined) return this.#enter(mark, head.slice(mark.length));
    if (MARKS.some((candidate) => candidate.startsWith(head))) return false;
    if (head.startsWith('{')) return this.#go({ name: 'between', style: 'bare', raw: '' }, this.#held);
    if (head.startsWith('[')) {
      const inside = head.slice(1).trimStart();
      if (inside === '') return false;
      if (inside.startsWith('{')) return this.#go({ name: 'between', style: 'bare', raw: '[' }, inside);
    }
    const direct = this.#directCall(head, out);
    if (direct === 'perhaps') return false;
    return direct ?? this.#go({ name: 'text' }, this.#held);
  }

  /** `name{` or `name[ARGS]{`. */
  #directCall(head: string, out: ToolText): true | 'perhaps' | undefined {
    for (const name of this.#names) {
      if (!head.startsWith(name)) {
        if (name.startsWith(head)) return 'perhaps';
        continue;
      }
      const rest = head.slice(name.length).trimStart();
      const args = rest.startsWith(ARGS_MARK) ? rest.slice(ARGS_MARK.length).trimStart() : rest;
      if (args === '' || ARGS_MARK.startsWith(rest)) return 'perhaps';
      if (!args.startsWith('{')) continue;
      const scanner = this.#newScanner('direct');
      this.#tell(scanner.push(`{"name":${JSON.stringify(name)},"arguments":`).news, out);
      this.#go({ name: 'call', style: 'direct', scanner, raw: '' }, args);
      return true;
    }
    return undefined;
  }

  #readText(out: ToolText): boolean {
    const starts = MARKS.map((mark) => ({ mark, at: this.#held.indexOf(mark) })).filter(({ at }) => at >= 0);
    const first = starts.sort((a, b) => a.at - b.at)[0];
    if (first) {
      out.content += this.#held.slice(0, first.at).trimEnd();
      return this.#enter(first.mark, this.#held.slice(first.at + first.mark.length));
    }
    // Space is held back too: before a call it belongs to neither.
    const safe = this.#held.slice(0, this.#held.length - heldLength(this.#held, MARKS)).trimEnd();
    out.content += safe;
    this.#held = this.#held.slice(safe.length);
    return false;
  }

  #enter(mark: string, rest: string): boolean {
    return this.#go({ name: 'between', style: mark === HERMES_OPEN ? 'hermes' : 'bare', raw: mark }, rest);
  }

  #readBetween(mode: Extract<Mode, { name: 'between' }>, out: ToolText): boolean {
    // After a call of a list: what separates it from the next, and the end of the list.
    const rest =
      this.hasCalls && mode.style !== 'hermes' ? this.#held.replace(/^[\s,;\]]+/, '') : this.#held.trimStart();
    if (rest === '') return false;
    if (rest.startsWith('{')) {
      const raw = mode.raw + this.#held.slice(0, this.#held.length - rest.length);
      return this.#go({ name: 'call', style: mode.style, scanner: this.#newScanner(mode.style), raw }, rest);
    }
    if (mode.style === 'bare') {
      if (mode.raw.startsWith('[TOOL') && rest === '[') return false;
      if (mode.raw.startsWith('[TOOL') && rest.startsWith('[') && !rest.startsWith('[T'))
        return this.#go({ ...mode, raw: `${mode.raw}[` }, rest.slice(1));
      const direct = mode.raw === '' || mode.raw.startsWith('[TOOL') ? this.#directCall(rest, out) : undefined;
      if (direct === 'perhaps') return false;
      if (direct) return true;
    }
    // No call comes: the mark was text, and is not read again.
    out.content += mode.raw;
    return this.#go({ name: 'text' }, mode.raw === '' ? rest : this.#held);
  }

  #readCall(mode: Extract<Mode, { name: 'call' }>, out: ToolText): boolean {
    const { scanner, style } = mode;
    if (style === 'direct') this.#feedDirect(scanner, out);
    else {
      const { taken, news } = scanner.push(this.#held);
      this.#held = this.#held.slice(taken);
      this.#tell(news, out);
    }
    if (scanner.state === 'open') return false;
    if (scanner.state === 'no-call') {
      out.content += mode.raw + scanner.text;
      return this.#go({ name: 'text' }, this.#held);
    }
    return this.#go(style === 'hermes' ? { name: 'closing' } : { name: 'between', style: 'bare', raw: '' }, this.#held);
  }

  /** The arguments are an object of their own; the one around it is ours, so it is closed when they are. */
  #feedDirect(scanner: CallScanner, out: ToolText): void {
    while (this.#held !== '' && scanner.state === 'open') {
      this.#tell(scanner.push(this.#held.charAt(0)).news, out);
      this.#held = this.#held.slice(1);
      if (scanner.hasArguments) this.#tell(scanner.push('}').news, out);
    }
  }

  #readClosing(): boolean {
    const rest = this.#held.trimStart();
    if (rest === '' || (HERMES_CLOSE.startsWith(rest) && rest !== HERMES_CLOSE)) return false;
    // A model that forgets the end tag has called all the same.
    return this.#go(
      { name: 'text' },
      rest.startsWith(HERMES_CLOSE) ? rest.slice(HERMES_CLOSE.length).trimStart() : rest,
    );
  }

  #tell(news: CallNews, out: ToolText): void {
    if (news.name !== undefined) this.#calls += 1;
    if (this.#single && this.#calls > 1) return;
    const index = this.#calls - 1;
    if (news.name !== undefined) {
      const called = { name: news.name, arguments: news.arguments ?? '' };
      out.calls.push({ index, id: this.#newId(), type: 'function', function: called });
    } else if (news.arguments !== undefined) out.calls.push({ index, function: { arguments: news.arguments } });
  }

  #newScanner(style: Style): CallScanner {
    return new CallScanner(style === 'bare' ? (name) => this.#names.has(name) : () => true);
  }

  #go(mode: Mode, held: string): true {
    this.#mode = mode;
    this.#held = held;
    return true;
  }
}

const CALL_ID_LENGTH = 9;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Nine letters and digits: the one form that templates of Mistral accept; nobody else minds. */
function randomCallId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(CALL_ID_LENGTH));
  return Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]!).join('');
}
