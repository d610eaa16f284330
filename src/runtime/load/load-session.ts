import type { LoadProgress, LoadWarning } from '../../shared/info.ts';
import { leaveBreadcrumb, takeInterruptedLoads, type InterruptedLoad } from './breadcrumb.ts';
import { catalogEntry } from '../models/catalog-entries.ts';
import type { ResolvedModel } from '../models/catalog.ts';
import { findPath } from '../models/find-path.ts';
import { checkFit } from '../models/fit-check.ts';
import type { HubSource } from '../models/hub-source.ts';
import { joinSplitFiles } from '../models/joined-gguf.ts';
import { onnxNeeds } from './onnx-needs.ts';
import { readOptionalJson } from '../models/read-file.ts';
import type { ModelSource } from '../models/source.ts';
import { createModelStore, hasIndexedDb, type ModelStore } from '../models/store/model-store.ts';
import { storedSource } from '../models/stored-source.ts';

export interface LoadSessionOptions {
  /** Keep downloaded files in the weight store of this origin. @default true, where there is IndexedDB */
  store?: boolean | undefined;
  /** Ask the host whether stored files have changed. @default false, but true for a host on this machine, where files change under one URL */
  update?: boolean | undefined;
  onProgress?: ((progress: LoadProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
  /** Bytes that all weights together may take; a larger model is refused before its body is fetched. */
  memoryBytes?: number | undefined;
  /** Tokens of context that KV is counted for; as the backend takes it. */
  contextTokens?: number | undefined;
}

/** What surrounds one load of a model. */
export interface LoadSession {
  /** To be loaded instead of what was given: from the store, with a pattern replaced by the path that it means. */
  model: ResolvedModel;
  /** To be given to the backend: adds what it cannot know (rate, time left, warnings) and passes on. */
  onProgress?: (progress: LoadProgress) => void;
  /** To be called when the load has ended, in success or failure; never rejects. */
  end(): Promise<void>;
}

/**
 * Puts the weight store in front of a source that fetches, checks the size of what is fetched, and marks the load so that a tab that it kills
 * can be told at the next start. Sources that are on the device anyway are passed through.
 */
export async function beginLoad(model: ResolvedModel, options: LoadSessionOptions): Promise<LoadSession> {
  const { source } = model;
  const { store: isWanted = true, onProgress, update = source.kind === 'url' && isLocal(source.id) } = options;
  const isFetched = source.kind === 'url' || source.kind === 'hub';
  if (!isFetched || !isWanted || !hasIndexedDb()) {
    const path = model.gguf === undefined ? undefined : await findGguf(source, model.gguf, options.signal);
    return {
      model: { ...model, source: joinSplitFiles(source), ...(path !== undefined && { gguf: path }) },
      ...(onProgress && { onProgress }),
      end: () => Promise.resolve(),
    };
  }
  const store = createModelStore();
  const progress = new MergedProgress(source.id, onProgress);
  const [interrupted] = await takeInterruptedLoads(store, source.id);
  if (interrupted) progress.warn(interruptedWarning(interrupted));
  const breadcrumb = await leaveBreadcrumb(store, source.id);
  let weightBytes = 0;
  const before = await storedBytes(store, source.id);
  if (before > 0) breadcrumb.note(before);
  const ended = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, ended.signal]) : ended.signal;
  const end = async (): Promise<void> => {
    // Files that were not read to their end keep no other tab waiting.
    ended.abort();
    await breadcrumb.remove();
    store.close();
  };
  try {
    const path = model.gguf === undefined ? undefined : await findGguf(source, model.gguf, signal, store);
    const stored: ModelSource = storedSource(source, {
      store,
      signal,
      update,
      onProgress: (event) => progress.fromStore(event),
      beforeDownload: async ({ path: file, totalBytes = 0 }) => {
        weightBytes += totalBytes;
        breadcrumb.note(weightBytes);
        const { memoryBytes, contextTokens } = options;
        if (memoryBytes === undefined) return;
        // Of a GGUF file, KV and scratch are in its header: the backend counts them.
        const config = file.startsWith('onnx/') ? await readOptionalJson(stored, 'config.json', { signal }) : undefined;
        const besides = config === undefined ? {} : onnxNeeds(config, contextTokens);
        checkFit({ model: source.id, weightBytes, ...besides }, { memoryBytes });
      },
    });
    return {
      model: { ...model, source: joinSplitFiles(stored), ...(path !== undefined && { gguf: path }) },
      onProgress: (event) => progress.fromBackend(event),
      end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/**
 * The path that a pattern means. What is stored is looked at first, so that a model that is there needs no network.
 * @throws TokenglassError `model-not-found`, `network`
 */
async function findGguf(source: ModelSource, path: string, signal?: AbortSignal, store?: ModelStore): Promise<string> {
  if (!path.includes('*')) return path;
  const models = await (store?.list() ?? Promise.resolve([])).catch(() => []);
  const files = models.find(({ id }) => id === source.id)?.files ?? [];
  const stored = files.filter(({ isComplete }) => isComplete).map((file) => file.path);
  try {
    return findPath(stored, path, source.id);
  } catch {
    if (!isHubSource(source)) return path;
    const names = (await source.files(signal)).map((file) => file.path);
    return findPath(names, path, source.id);
  }
}

async function storedBytes(store: ModelStore, id: string): Promise<number> {
  const models = await store.list().catch(() => []);
  return models.find((model) => model.id === id)?.storedBytes ?? 0;
}

const isHubSource = (source: ModelSource): source is HubSource => source.kind === 'hub' && 'files' in source;

function isLocal(url: string): boolean {
  const page = typeof location === 'undefined' ? undefined : location.href;
  if (!URL.canParse(url, page)) return false;
  const { hostname } = new URL(url, page);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
}

/** Backends say how far a load is; the store knows the rate, and what went wrong in storing. */
class MergedProgress {
  readonly #id: string;
  readonly #onProgress: ((progress: LoadProgress) => void) | undefined;
  #store: LoadProgress | undefined;
  #warning: LoadWarning | undefined;

  constructor(id: string, onProgress: ((progress: LoadProgress) => void) | undefined) {
    this.#id = id;
    this.#onProgress = onProgress;
  }

  fromStore(event: LoadProgress): void {
    const isNews = event.label !== this.#store?.label || event.warning !== this.#store.warning;
    this.#store = event;
    this.#warning = event.warning ?? this.#warning;
    if (isNews) this.#tell(event);
  }

  fromBackend(event: LoadProgress): void {
    if (event.phase !== 'download') {
      this.#tell(event);
      return;
    }
    const { storedBytes, bytesPerSecond } = this.#store ?? {};
    const leftBytes = event.totalBytes === undefined ? undefined : event.totalBytes - event.loadedBytes;
    this.#tell({
      ...event,
      ...(storedBytes !== undefined && { storedBytes }),
      ...(bytesPerSecond !== undefined && { bytesPerSecond }),
      ...(bytesPerSecond !== undefined && leftBytes !== undefined && { secondsLeft: leftBytes / bytesPerSecond }),
    });
  }

  warn(warning: LoadWarning): void {
    this.#warning = warning;
    this.#tell({ phase: 'download', loadedBytes: 0, label: `Loading ${this.#id}` });
  }

  #tell(event: LoadProgress): void {
    this.#onProgress?.({ ...event, ...(this.#warning && { warning: this.#warning }) });
  }
}

function interruptedWarning({ model, smallerModel }: InterruptedLoad): LoadWarning {
  const advice = smallerModel === undefined ? '' : ` ${catalogEntry(smallerModel)?.title ?? smallerModel} is smaller.`;
  return {
    code: 'interrupted-load',
    message: `The last load of ${model} never ended: the tab was closed, or the model was too large for this device.${advice}`,
    ...(smallerModel !== undefined && { smallerModel }),
  };
}
