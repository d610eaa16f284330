import type { CreateEngineOptions, Engine, EngineInfo } from '../src/index.ts';
import {
  EngineLoader,
  formatBytes,
  formatParameters,
  needsNewEngine,
  type TgModels,
  type TgOverlay,
} from '../src/ui/index.ts';
import type { TgDashboard } from '../src/ui/dashboard/index.ts';
import { ask, type Answer, type AskOptions } from './ask.ts';
import { readPageOptions } from './page-options.ts';
import { UserTimingWriter } from '../src/runtime/metrics/index.ts';
import { modelNumber } from '../src/shared/model-number.ts';
import { wireTheme } from './theme.ts';

/** What headless callers use. */
export interface TokenglassPage {
  /** Undefined until the model is loaded. */
  readonly engine: Engine | undefined;
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

/** Wires a page with a chat: the landing page, or the dashboard. `createEngine` is a parameter so that a page of fixtures can stand in for the real thing. */
export function startPage(createEngine: (options: CreateEngineOptions) => Promise<Engine>): void {
  const options = readPageOptions(location.search);
  const chat = byId('tg-chat', 'chat');
  const instruments = document.querySelectorAll<TgOverlay | TgDashboard>('tg-overlay, tg-dashboard');
  const load = byId('tg-load', 'load');
  const note = byId('span', 'note');
  const select = byId('select', 'engine');
  const toCpu = byId('button', 'to-cpu');
  wireTheme(byId('button', 'theme'));

  chat.suggestions = SUGGESTIONS;
  chat.maxTokens = options.maxTokens;
  chat.sampling = { temperature: options.temperature };
  for (const instrument of instruments) {
    instrument.source = chat;
    if (instrument.localName === 'tg-overlay')
      instrument.toggleAttribute('open', matchMedia('(width >= 64rem)').matches);
  }
  select.value = options.engine;

  let stopUserTiming: (() => void) | undefined;
  const loader = new EngineLoader(createEngine, ({ engine, progress, error }) => {
    load.progress = progress;
    load.error = error;
    toCpu.hidden = !error || options.engine === 'onnx-wasm';
    note.textContent = engine ? describeModel(engine.info) : '';
    // Before the chat: a question that waited must not run before its steps are listened to.
    for (const instrument of instruments) instrument.engine = engine;
    // For the Performance panel of DevTools: prefill and every token, beside the page's own work.
    stopUserTiming?.();
    stopUserTiming = engine && new UserTimingWriter().attach(engine.metrics);
    chat.engine = engine;
    if (models) Object.assign(models, { engine, current: options.model });
  });
  const models = wireModels((model) => choose('model', model));
  const start = (): Promise<Engine> => {
    const { model, engine, worker } = options;
    const loading = loader.load({ model, engine, worker });
    loading.catch(() => undefined); // the failure is on the page already
    return loading;
  };
  /** Loads with another option, which is in the address from then on. */
  const choose = (name: 'engine' | 'model', value: string): void => {
    const url = new URL(location.href);
    url.searchParams.set(name, value);
    url.searchParams.delete('q');
    Object.assign(options, readPageOptions(url.search));
    select.value = options.engine;
    history.replaceState(null, '', url);
    void start();
  };
  select.addEventListener('change', () => choose('engine', select.value));
  toCpu.addEventListener('click', () => choose('engine', 'onnx-wasm'));
  load.addEventListener('tg-model', ({ model }) => choose('model', model));
  load.addEventListener('tg-retry', () => void start());
  chat.addEventListener('tg-error', ({ error }) => {
    if (needsNewEngine(error)) void start();
  });

  const ready = start();
  window.tokenglass = {
    ready,
    get engine() {
      return loader.state.engine;
    },
    ask: async (question, askOptions) => ask(await ready, question, askOptions),
  };
  if (options.question !== undefined) void chat.ask(options.question);
}

/** The dialog of models, where the page has one. */
function wireModels(onModel: (model: string) => void): TgModels | null {
  const models = document.querySelector('tg-models');
  const dialog = models?.closest('dialog');
  document.querySelector('#open-models')?.addEventListener('click', () => {
    void models?.refresh();
    dialog?.showModal();
  });
  models?.addEventListener('tg-model', ({ model }) => {
    dialog?.close();
    onModel(model);
  });
  return models;
}

function describeModel({ model, worker }: EngineInfo): string {
  const [parameters, weightBytes] = [modelNumber(model, 'parameters'), modelNumber(model, 'weightBytes')];
  const facts = [
    model.unknown?.includes('quantization') ? model.id : `${model.id} ${model.quantization}`,
    ...(parameters === undefined ? [] : [`${formatParameters(parameters)} parameters`]),
    ...(weightBytes === undefined ? [] : [formatBytes(weightBytes)]),
    worker ? 'in a worker' : 'in the page',
  ];
  return facts.join(' · ');
}
