import type { ChatMessage, Engine } from '../../src/index.ts';
import type { TgLane } from '../../src/ui/dashboard/index.ts';
import type { TgLoad } from '../../src/ui/index.ts';
import { EngineLoader } from '../../src/ui/index.ts';
import type { Contender } from './contender.ts';
import { find } from './find.ts';

/** Not measured: the first request of an engine compiles and fills caches. */
const WARM_UP = { maxTokens: 4, ignoreEos: true } as const;
const GREETING: ChatMessage = { role: 'user', content: 'Hello' };

/** One half of the screen: a choice, an engine and its lane. */
export class Side {
  readonly #lane: TgLane;
  readonly #load: TgLoad;
  readonly #words: HTMLElement;
  readonly #onChange: () => void;
  #contender: Contender | undefined;
  #abort: AbortController | undefined;
  #engine: Engine | undefined;
  #system: readonly ChatMessage[] = [];

  /** @param root - holds a `tg-lane`, a `tg-load`, a `select` and a `p` */
  constructor(root: HTMLElement, choices: readonly Contender[], onChange: () => void) {
    this.#lane = find(root, 'tg-lane');
    this.#load = find(root, 'tg-load');
    this.#words = find(root, 'p');
    this.#onChange = onChange;
    const select = find(root, 'select');
    select.replaceChildren(...choices.map(({ id, name }) => new Option(name, id)));
    select.addEventListener('change', () => void this.choose(choices.find(({ id }) => id === select.value)));
    this.#load.addEventListener('tg-retry', () => void this.choose(this.#contender));
  }

  get lane(): TgLane {
    return this.#lane;
  }

  get contender(): Contender | undefined {
    return this.#contender;
  }

  get ready(): boolean {
    return this.#engine !== undefined;
  }

  /** What comes before every question; the engine is shown it once, so that a cache has it. */
  async setSystem(system: readonly ChatMessage[]): Promise<void> {
    this.#system = system;
    const engine = this.#engine;
    if (!engine || system.length === 0) return;
    this.#engine = this.#lane.engine = undefined;
    this.#onChange();
    await this.#warmUp(engine, this.#abort!.signal);
  }

  /** Makes the engine ready, unless another was chosen meanwhile. */
  async #warmUp(engine: Engine, signal: AbortSignal): Promise<void> {
    let system: readonly ChatMessage[];
    do {
      system = this.#system;
      const messages = [...system, GREETING];
      try {
        for await (const event of engine.generate({ ...WARM_UP, messages }, signal)) if (event.type === 'end') break;
      } catch {
        // A prompt that is too long for the model, say: that shows where it is asked.
      }
      if (signal.aborted) return;
    } while (system !== this.#system);
    this.#engine = this.#lane.engine = engine;
    this.#onChange();
  }

  /** Loads a contender in place of the one there is, with what comes before every question. */
  async choose(contender: Contender | undefined, system = this.#system): Promise<void> {
    if (!contender) return;
    this.#system = system;
    this.#abort?.abort();
    const abort = (this.#abort = new AbortController());
    const before = this.#engine;
    this.#contender = contender;
    this.#engine = this.#lane.engine = undefined;
    this.#lane.reset();
    this.#words.textContent = contender.words;
    this.#onChange();
    await before?.[Symbol.asyncDispose]();
    const loader = new EngineLoader(
      async ({ onProgress, signal }) => contender.load(onProgress ?? (() => undefined), signal ?? abort.signal),
      ({ progress, error }) => {
        if (abort.signal.aborted) return;
        this.#load.progress = progress;
        this.#load.error = error;
      },
    );
    abort.signal.addEventListener('abort', () => void loader.dispose());
    try {
      const engine = await loader.load({ model: contender.id });
      await this.#warmUp(engine, abort.signal);
    } catch {
      // A failure is on the page already; a newer choice needs no word.
    }
  }
}
