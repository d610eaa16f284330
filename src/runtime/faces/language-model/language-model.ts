import { isTokenglassError } from '../../../shared/errors.ts';
import type { ChatMessage, GenerateRequest, Usage } from '../../../shared/generation.ts';
import type { Engine } from '../../request/engine.ts';
import { toPromptError } from './language-model-errors.ts';
import { notSupported, readPrompt, type LanguageModelMessage, type LanguageModelPrompt } from './prompt-input.ts';

export interface LanguageModelPromptOptions {
  signal?: AbortSignal;
  /** A JSON Schema that the answer keeps to. A regular expression is refused. */
  responseConstraint?: object;
  /** The constraint is never put into the prompt, so both values mean the same. */
  omitResponseConstraintInput?: boolean;
}

export interface LanguageModelCreateOptions {
  initialPrompts?: readonly LanguageModelMessage[];
  temperature?: number;
  topK?: number;
  /** Destroys the session. */
  signal?: AbortSignal;
  /** Told at once that all is loaded: the engine is. */
  monitor?: (monitor: EventTarget) => void;
  expectedInputs?: readonly { type: string }[];
  expectedOutputs?: readonly { type: string }[];
  tools?: readonly unknown[];
}

export const DEFAULT_TOP_K = 3;
export const DEFAULT_TEMPERATURE = 1;

/** Of the context, kept free for an answer before old turns are forgotten. */
const ANSWER_SHARE = 1 / 4;
const MAX_ANSWER_RESERVE = 256;

/** A session in the shape of the browser's Prompt API. Its prompts run one after the other. */
export class LanguageModelSession extends EventTarget {
  readonly temperature: number;
  readonly topK: number;
  oncontextoverflow: ((event: Event) => void) | null = null;
  readonly #engine: Engine;
  readonly #destroyed = new AbortController();
  /** System message and examples; never forgotten. */
  readonly #initial: readonly ChatMessage[];
  #turns: ChatMessage[] = [];
  #usedTokens = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** Use `LanguageModel.create`. */
  constructor(
    engine: Engine,
    initial: readonly ChatMessage[],
    options: LanguageModelCreateOptions,
    turns: ChatMessage[],
  ) {
    super();
    this.#engine = engine;
    this.#initial = initial;
    this.#turns = turns;
    this.temperature = options.temperature ?? DEFAULT_TEMPERATURE;
    this.topK = options.topK ?? DEFAULT_TOP_K;
    const { signal } = options;
    signal?.addEventListener('abort', () => this.destroy(), { once: true, signal: this.#destroyed.signal });
  }

  /** Tokens of what the session remembers. */
  get contextUsage(): number {
    return this.#usedTokens;
  }

  get contextWindow(): number {
    const { contextTokens, unknown = [] } = this.#engine.info.model;
    return unknown.includes('contextTokens') ? Infinity : contextTokens;
  }

  /** Resolves to the whole answer. Rejects with a DOMException: `AbortError`, `QuotaExceededError`, `NotSupportedError`, `InvalidStateError`. */
  async prompt(input: LanguageModelPrompt, options: LanguageModelPromptOptions = {}): Promise<string> {
    let answer = '';
    for await (const piece of this.#ask(input, options)) answer += piece;
    return answer;
  }

  /** The answer in pieces, each what is new. */
  promptStreaming(input: LanguageModelPrompt, options: LanguageModelPromptOptions = {}): ReadableStream<string> {
    const pieces = this.#ask(input, options);
    return new ReadableStream<string>({
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => {
        await pieces.return();
      },
    });
  }

  /** Remembers messages without an answer. */
  async append(input: LanguageModelPrompt, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    const messages = readPrompt(input, false);
    await this.#inTurn(async () => {
      signal?.throwIfAborted();
      await this.#makeRoom(messages);
      this.#turns.push(...messages);
      this.#usedTokens = (await this.#count([...this.#initial, ...this.#turns])) ?? this.#usedTokens;
    });
  }

  /** Tokens that the input would add. */
  async measureContextUsage(input: LanguageModelPrompt, options: LanguageModelPromptOptions = {}): Promise<number> {
    this.#throwIfDestroyed();
    options.signal?.throwIfAborted();
    const messages = readPrompt(input, false);
    const before = [...this.#initial, ...this.#turns];
    const [all, known] = await Promise.all([this.#count([...before, ...messages]), this.#count(before)]);
    if (all === undefined || known === undefined) throw notSupported('this engine does not count tokens');
    return Math.max(0, all - known);
  }

  /** A session of its own that remembers the same. */
  async clone({ signal }: { signal?: AbortSignal } = {}): Promise<LanguageModelSession> {
    return this.#inTurn(() => {
      signal?.throwIfAborted();
      const { temperature, topK } = this;
      const options = { temperature, topK, ...(signal && { signal }) };
      const copy = new LanguageModelSession(this.#engine, this.#initial, options, [...this.#turns]);
      copy.#usedTokens = this.#usedTokens;
      return Promise.resolve(copy);
    });
  }

  /** Ends what runs; the engine stays. */
  destroy(): void {
    this.#destroyed.abort(new DOMException('Cannot go on: the session was destroyed', 'AbortError'));
  }

  /** Counts what the session begins with. */
  async measure(): Promise<this> {
    this.#usedTokens = (await this.#count(this.#initial)) ?? 0;
    return this;
  }

  async *#ask(
    input: LanguageModelPrompt,
    options: LanguageModelPromptOptions,
  ): AsyncGenerator<string, void, undefined> {
    this.#throwIfDestroyed();
    const messages = readPrompt(input, false);
    const signal = options.signal ? AbortSignal.any([options.signal, this.#destroyed.signal]) : this.#destroyed.signal;
    const leave = await this.#enter();
    try {
      signal.throwIfAborted();
      await this.#makeRoom(messages);
      const request = this.#request([...this.#initial, ...this.#turns, ...messages], options);
      let answer = '';
      let usage: Usage | undefined;
      for await (const event of this.#engine.generate(request, signal)) {
        if (event.type === 'end') usage = event.usage;
        if (event.type !== 'delta' || event.text === '') continue;
        answer += event.text;
        yield event.text;
      }
      // An answer that was cut short by the page is not remembered, nor what it answered.
      this.#turns.push(...messages, { role: 'assistant', content: answer });
      if (usage) this.#usedTokens = usage.promptTokens + usage.completionTokens;
    } catch (error) {
      throw signal.aborted ? signal.reason : toPromptError(error);
    } finally {
      leave();
    }
  }

  #request(messages: readonly ChatMessage[], { responseConstraint }: LanguageModelPromptOptions): GenerateRequest {
    if (responseConstraint instanceof RegExp) throw notSupported('a regular expression as responseConstraint');
    const { temperature, topK } = this;
    return {
      messages,
      sampling: { temperature, topK },
      ...(responseConstraint && {
        grammar: { type: 'json-schema', schema: responseConstraint as Record<string, unknown> },
      }),
    };
  }

  /** Forgets the oldest turns until the messages and an answer fit. Where nothing is left to forget, the engine refuses what is too long. */
  async #makeRoom(messages: readonly ChatMessage[]): Promise<void> {
    const window = this.contextWindow;
    const room = window - Math.min(MAX_ANSWER_RESERVE, Math.floor(window * ANSWER_SHARE));
    let hasForgotten = false;
    while (this.#turns.length > 0) {
      const count = await this.#count([...this.#initial, ...this.#turns, ...messages]);
      if (count === undefined || count <= room) break;
      // A turn of the user goes with its answer.
      const next = this.#turns.findIndex(({ role }, index) => index > 0 && role === 'user');
      this.#turns.splice(0, next < 0 ? this.#turns.length : next);
      hasForgotten = true;
    }
    if (!hasForgotten) return;
    const event = new Event('contextoverflow');
    this.dispatchEvent(event);
    this.oncontextoverflow?.(event);
  }

  /** Absent where the engine does not count. */
  async #count(messages: readonly ChatMessage[]): Promise<number | undefined> {
    if (messages.length === 0) return 0;
    try {
      return await this.#engine.countTokens({ messages });
    } catch (error) {
      if (isTokenglassError(error, 'unsupported')) return undefined;
      throw toPromptError(error);
    }
  }

  /** Waits for its turn. @returns what lets the next one in */
  async #enter(): Promise<() => void> {
    const before = this.#last;
    let leave!: () => void;
    this.#last = new Promise<void>((resolve) => (leave = resolve));
    await before;
    return leave;
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#throwIfDestroyed();
    const leave = await this.#enter();
    try {
      this.#destroyed.signal.throwIfAborted();
      return await work();
    } finally {
      leave();
    }
  }

  #throwIfDestroyed(): void {
    if (this.#destroyed.signal.aborted)
      throw new DOMException('Cannot prompt: the session was destroyed; create a new one', 'InvalidStateError');
  }
}
