import { TokenglassError } from '../../shared/errors.ts';
import { createBuiltInSource, TUTOR_GGUF } from './builtin.ts';
import { CATALOG, type CatalogEntry } from './catalog-entries.ts';
import { createFileSource, type NamedFile } from './file-source.ts';
import { splitSet } from './gguf-split.ts';
import { createHubSource, type HubSourceOptions } from './hub-source.ts';
import type { ModelSource } from './source.ts';
import { createUrlSource } from './url-source.ts';

/**
 * What names a model: `tutor` or another name of the catalog; a URL of a `.gguf` file, or of a folder in the layout of onnx-community repositories; a model of the Hub,
 * `hf:owner/name[@revision]` with the ONNX layout, or `hf:owner/name[@revision]/file` with a `.gguf` file, or a pattern or part of the
 * name of one (`hf:owner/name/Q4_K_M`); or files that a person has chosen.
 */
export type ModelSpec = string | { files: readonly (File | NamedFile)[] };

/** A model that was found, and which of its formats there are. */
export interface ResolvedModel {
  source: ModelSource;
  /** Path of a GGUF file within the source (the first, of a split set), or a pattern for it; absent if the model has none. */
  gguf?: string;
  /** True if the source, or {@link ResolvedModel.onnxSource}, has the layout of onnx-community repositories. */
  onnx: boolean;
  /** Where the ONNX layout lies, if not in `source`. */
  onnxSource?: ModelSource;
}

/** Where models are looked for. */
export interface ResolveOptions {
  /** URL of the built-in model's folder. @default in the package */
  tutorBaseUrl?: string;
  /** Mirror and access token for `hf:` models. */
  hub?: Pick<HubSourceOptions, 'baseUrl' | 'token' | 'fetch'>;
}

/** Names of the models that need no URL. */
export const CATALOG_NAMES: readonly string[] = CATALOG.map(({ name }) => name);

/**
 * Finds a model by what names it. URLs may be relative to the page (`./models/mine/`). Nothing is fetched.
 *
 * @throws TokenglassError `model-not-found` for a name that is none of these
 */
export function resolveModel(model: ModelSpec, options: ResolveOptions = {}): ResolvedModel {
  if (typeof model !== 'string') return resolveFiles(model.files);
  if (model === 'tutor') return { source: createBuiltInSource(options.tutorBaseUrl), gguf: TUTOR_GGUF, onnx: true };
  const entry = CATALOG.find(({ name }) => name === model);
  if (entry?.hub) return resolveEntry(entry.hub, options.hub);
  if (model.startsWith('hf:')) return resolveHub(model, options.hub);
  const url = asUrl(model);
  if (!url) {
    const known = CATALOG_NAMES.join(', ');
    const message = `Cannot load the model "${model}": it is neither in the catalog (${known}) nor a URL; give one of these, a URL that begins with https://, / or ./, or a model of the Hub as hf:owner/name`;
    throw new TokenglassError('model-not-found', message, { details: { model } });
  }
  // What is stored is found by its id: a relative URL would be another model on another page.
  const id = /^https?:/i.test(model) ? model : url.href;
  if (!/\.gguf$/i.test(url.pathname)) return { source: createUrlSource(url, { id }), onnx: true };
  const source = createUrlSource(new URL('.', url), { id });
  return { source, gguf: `${url.pathname.slice(url.pathname.lastIndexOf('/') + 1)}${url.search}`, onnx: false };
}

function resolveEntry({ gguf, onnx }: NonNullable<CatalogEntry['hub']>, hub: ResolveOptions['hub']): ResolvedModel {
  return {
    source: createHubSource(gguf.repository, hub),
    gguf: gguf.file ?? '*.gguf',
    onnx: true,
    onnxSource: createHubSource(onnx.repository, hub),
  };
}

/** The model as an engine sees it that takes one of its formats. */
export function inFormat(model: ResolvedModel, format: 'gguf' | 'onnx'): ResolvedModel {
  const { source, gguf, onnx, onnxSource } = model;
  if (format === 'onnx') return { source: onnxSource ?? source, onnx };
  return { source, ...(gguf !== undefined && { gguf }), onnx: false };
}

/** A revision may hold slashes only as the Hub's own `refs/pr/1`. */
const HUB_SPEC = /^hf:([\w.-]+\/[\w.-]+)(?:@(refs\/[^/]+\/[^/]+|[^/]+))?(?:\/(.+))?$/;

function resolveHub(model: string, hub: ResolveOptions['hub']): ResolvedModel {
  const [, id, revision, file] = HUB_SPEC.exec(model) ?? [];
  if (id === undefined || id.includes('..')) {
    const message = `Cannot load the model "${model}": it is no model of the Hub; give it as hf:owner/name, hf:owner/name@revision or hf:owner/name/file.gguf`;
    throw new TokenglassError('model-not-found', message, { details: { model } });
  }
  const source = createHubSource(id, { ...hub, ...(revision !== undefined && { revision }) });
  if (file === undefined) return { source, onnx: true };
  return { source, gguf: /\.gguf$/i.test(file) ? file : `*${file}*.gguf`, onnx: false };
}

function resolveFiles(files: readonly (File | NamedFile)[]): ResolvedModel {
  const source = createFileSource(files);
  const gguf = source.paths.find((path) => /\.gguf$/i.test(path));
  const onnx = source.paths.some((path) => /(?:^|\/)onnx\/model_[^/]*\.onnx$/i.test(path));
  if (gguf === undefined && !onnx) {
    const message = `Cannot load ${source.id}: there is neither a .gguf file nor an onnx folder with a model in it; choose the folder of a model`;
    throw new TokenglassError('model-not-found', message, { details: { model: source.id } });
  }
  return { source, ...(gguf !== undefined && { gguf: splitSet(gguf)?.[0] ?? gguf }), onnx };
}

function asUrl(model: string): URL | undefined {
  if (!/^(?:https?:|\.{0,2}\/)/i.test(model)) return undefined;
  const page = typeof location === 'undefined' ? undefined : location.href;
  return URL.canParse(model, page) ? new URL(model, page) : undefined;
}
