import { isTokenglassError, TokenglassError } from '../../../shared/errors.ts';
import type { LoadProgress } from '../../../shared/info.ts';
import { eachPiece, readJson, readOpened } from '../../models/read-file.ts';
import type { ModelSource, OpenedFile } from '../../models/source.ts';
import { fingerprintOf, type SampledFile } from './fingerprint.ts';
import { summarizeOnnxGraph, type OnnxGraphSummary } from './onnx-graph.ts';
import type { SessionFiles } from './onnx-session.ts';

/** `q4`: INT4 weights, f32 arithmetic. `q4f16`: INT4 weights, f16 arithmetic and KV (on WebGPU, needs `shader-f16`). */
export type OnnxDtype = 'q4' | 'q4f16';

/** What is used of config.json; the rest is ignored. */
export interface OnnxConfig {
  modelType: string;
  hiddenSize: number;
  heads: number;
  contextTokens: number;
  tiesEmbeddings: boolean;
}

export interface OnnxModelFiles extends SessionFiles {
  dtype: OnnxDtype;
  config: OnnxConfig;
  graph: OnnxGraphSummary;
  fingerprint: string;
}

export interface LoadFilesOptions {
  source: ModelSource;
  /** In order of preference; the first that the source has is taken. */
  dtypes: readonly OnnxDtype[];
  signal?: AbortSignal;
  onProgress?: (progress: LoadProgress) => void;
}

/**
 * Loads a model in the layout of onnx-community repositories: config.json, onnx/model_q4.onnx (or another precision) and the external data
 * that the file names.
 *
 * @throws TokenglassError `model-not-found`, `model-invalid`, `network`
 */
export async function loadOnnxFiles(options: LoadFilesOptions): Promise<OnnxModelFiles> {
  const { source, signal } = options;
  const json = await readJson(source, 'config.json', signal ? { signal } : {});
  const config = readConfig(json);
  const { dtype, path, file } = await openModel(options);
  const report = progressReporter(source.id, options.onProgress);
  // With external data, the file that was opened is the smallest part, and the size of the rest is not known yet.
  const isSplit = declaresExternalData(json);
  const onBytes = (loaded: number, total?: number): void => report(loaded, isSplit ? undefined : total);
  const model = await readOpened(file, path, { ...(signal && { signal }), onBytes });
  const graph = summarizeOnnxGraph(model);
  const externalData = await loadExternalData(options, graph, model.length, report);
  const fingerprint = await fingerprintOf(json, model, externalData);
  return { dtype, config, graph, fingerprint, model, externalData };
}

async function openModel({
  source,
  dtypes,
  signal,
}: LoadFilesOptions): Promise<{ dtype: OnnxDtype; path: string; file: OpenedFile }> {
  let missing: unknown;
  for (const dtype of dtypes) {
    const path = `onnx/model_${dtype}.onnx`;
    try {
      return { dtype, path, file: await source.open(path, signal ? { signal } : {}) };
    } catch (error) {
      if (!isTokenglassError(error, 'model-not-found')) throw error;
      missing ??= error;
    }
  }
  throw missing;
}

/** External data files in the order of the model, each in a Blob, which the browser may keep out of memory. */
async function loadExternalData(
  { source, signal }: LoadFilesOptions,
  graph: OnnxGraphSummary,
  modelBytes: number,
  report: (loaded: number, total?: number) => void,
): Promise<SampledFile[]> {
  const opened: { path: string; file: OpenedFile }[] = [];
  for (const path of graph.externalFiles) {
    if (/^[/\\]|\.\.|:/.test(path)) {
      const message = `Cannot load the ONNX model: it names the external file "${path}", which is outside its folder; take another export`;
      throw new TokenglassError('model-invalid', message, { details: { path } });
    }
    opened.push({ path, file: await source.open(`onnx/${path}`, signal ? { signal } : {}) });
  }
  const known = opened.every(({ file }) => file.totalBytes !== undefined);
  const total = opened.reduce((sum, { file }) => sum + (file.totalBytes ?? 0), modelBytes);
  const files: SampledFile[] = [];
  let before = modelBytes;
  for (const { path, file } of opened) {
    const base = before;
    const onBytes = (loaded: number): void => report(base + loaded, known ? total : undefined);
    const data = await readBlob(file, path, { ...(signal && { signal }), onBytes });
    before += data.size;
    files.push({ path, data, etag: file.etag });
  }
  return files;
}

async function readBlob(
  file: OpenedFile,
  path: string,
  options: { signal?: AbortSignal; onBytes: (loaded: number) => void },
): Promise<Blob> {
  const FOLD_BYTES = 1 << 25;
  const blobs: Blob[] = [];
  let pieces: BlobPart[] = [];
  let bytes = 0;
  await eachPiece(file, path, options, (piece) => {
    pieces.push(piece as Uint8Array<ArrayBuffer>);
    bytes += piece.length;
    if (bytes < FOLD_BYTES) return;
    blobs.push(new Blob(pieces));
    pieces = [];
    bytes = 0;
  });
  return new Blob([...blobs, ...pieces]);
}

function progressReporter(
  id: string,
  onProgress?: (progress: LoadProgress) => void,
): (loaded: number, total?: number) => void {
  return (loadedBytes, totalBytes) =>
    onProgress?.({
      phase: 'download',
      loadedBytes,
      ...(totalBytes !== undefined && { totalBytes }),
      label: `Loading the weights of ${id}`,
    });
}

function readConfig(json: unknown): OnnxConfig {
  const config = (typeof json === 'object' && json !== null ? json : {}) as Record<string, unknown>;
  const size = (name: string): number => {
    const value = config[name];
    if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value;
    const message = `Cannot load the ONNX model: config.json has no ${name}; check that it is a text decoder`;
    throw new TokenglassError('model-invalid', message, { details: { field: name } });
  };
  const modelType = config['model_type'];
  return {
    modelType: typeof modelType === 'string' ? modelType : 'unknown',
    hiddenSize: size('hidden_size'),
    heads: size('num_attention_heads'),
    contextTokens: size('max_position_embeddings'),
    tiesEmbeddings: config['tie_word_embeddings'] === true,
  };
}

/** `"transformers.js_config": { "use_external_data_format": true | { "model_q4.onnx": 2 } }` */
function declaresExternalData(json: unknown): boolean {
  const config = (json as Record<string, unknown>)['transformers.js_config'] as Record<string, unknown> | undefined;
  return Boolean(config?.['use_external_data_format']);
}
