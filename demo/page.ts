import type { CreateEngineOptions, Engine, EngineInfo } from '../src/index.ts';
import { isTokenglassError, TokenglassError } from '../src/index.ts';
import { formatBytes, formatParameters } from '../src/ui/index.ts';
import { ask, type Answer, type AskOptions } from './ask.ts';
import { readPageOptions, type PageOptions } from './page-options.ts';
import { wireTheme } from './theme.ts';

/** What headless callers use. */
export interface TokenglassPage {
  /** Undefined until the model is loaded. */
  engine: Engine | undefined;
  /** The first load. */
  ready: Promise<Engine>;
  /** One question past the chat, once the model is loaded. */
  ask: (question: string, options?: AskOptions) => Promise<Answer>;
}

declare global {
  interface Window {
    tokenglass: TokenglassPage;
  }
}

const SUGGESTIONS = [
  'What is TTFT?',
  'Why is decode memory-bound?',
  'What does the KV cache do?',
  'How does INT4 make it faster?',
];

function byId<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, id: string): HTMLElementTagNameMap[Tag] {
  const element = document.querySelector<HTMLElementTagNameMap[Tag]>(`${tag}#${id}`);
  if (!element) throw new TypeError(`Cannot start the page: it has no <${tag} id="${id}">`);
  return element;
}

/** Wires the landing page. `createEngine` is a parameter so that a page of fixtures can stand in for the real thing. */
export function startPage(createEngine: (options: CreateEngineOptions) => Promise<Engine>): void {
  const options = readPageOptions(location.search);
  const chat = byId('tg-chat', 'chat');
  const overlay = byId('tg-overlay', 'overlay');
  const load = byId('tg-load', 'load');
  const note = byId('span', 'note');
  const select = byId('select', 'engine');
  wireTheme(byId('button', 'theme'));

  chat.suggestions = SUGGESTIONS;
  chat.maxTokens = options.maxTokens;
  chat.sampling = { temperature: options.temperature };
  overlay.source = chat;
  overlay.open = matchMedia('(width >= 64rem)').matches;
  select.value = options.engine;

  const page: TokenglassPage = {
    engine: undefined,
    ready: undefined as unknown as Promise<Engine>,
    ask: async (question, askOptions) => ask(await page.ready, question, askOptions),
  };
  let current: AbortController | undefined;

  const start = async (wanted: PageOptions): Promise<Engine> => {
    current?.abort();
    const abort = (current = new AbortController());
    const before = page.engine;
    page.engine = chat.engine = overlay.engine = undefined;
    note.textContent = '';
    load.error = undefined;
    load.progress = { phase: 'download', loadedBytes: 0, label: 'Getting ready' };
    // The old engine's memory is given back before the new one asks for its own.
    await before?.[Symbol.asyncDispose]();
    try {
      const engine = await createEngine({
        model: wanted.model,
        engine: wanted.engine,
        worker: wanted.worker,
        signal: abort.signal,
        onProgress: (progress) => {
          if (!abort.signal.aborted) load.progress = progress;
        },
      });
      if (abort.signal.aborted) {
        await engine[Symbol.asyncDispose]();
        abort.signal.throwIfAborted();
      }
      load.progress = undefined;
      note.textContent = describeModel(engine.info);
      page.engine = chat.engine = overlay.engine = engine;
      return engine;
    } catch (error) {
      if (!abort.signal.aborted) {
        load.progress = undefined;
        load.error = asTokenglassError(error);
      }
      throw error;
    }
  };

  const restart = () => void start(options).catch(() => undefined); // the failure is on the page already
  select.addEventListener('change', () => {
    options.engine = readPageOptions(`?engine=${select.value}`).engine;
    const url = new URL(location.href);
    url.searchParams.set('engine', options.engine);
    url.searchParams.delete('q');
    history.replaceState(null, '', url);
    restart();
  });
  load.addEventListener('tg-retry', restart);

  page.ready = start(options);
  page.ready.catch(() => undefined);
  window.tokenglass = page;
  if (options.question !== undefined) void chat.ask(options.question);
}

function describeModel({ model, worker }: EngineInfo): string {
  const facts = [
    `${model.id} ${model.quantization}`,
    `${formatParameters(model.parameters)} parameters`,
    formatBytes(model.weightBytes),
    worker ? 'in a worker of this page' : 'in this page',
  ];
  return facts.join(' · ');
}

function asTokenglassError(error: unknown): TokenglassError {
  if (error instanceof TokenglassError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (isTokenglassError(error)) return new TokenglassError(error.code, message, { cause: error });
  return new TokenglassError('internal', `Cannot load the model: ${message}; load it again`, { cause: error });
}
