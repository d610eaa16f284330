import type { InferenceSession, Tensor } from 'onnxruntime-web';
import { TokenglassError } from '../../../shared/errors.ts';
import type { Clock } from '../../../shared/clock.ts';
import type { StepTiming } from '../../../shared/trace.ts';
import type { DeviceGuard } from './device-guard.ts';
import { KvBatch } from './kv-batch.ts';
import { emptyTensor, type KvLayout, type KvType } from './kv-tensors.ts';
import { LogitsReader } from './logits-reader.ts';
import type { OrtRuntime } from './ort-runtime.ts';

export interface SessionFiles {
  model: Uint8Array;
  /** Path as the model names it, and content. */
  externalData: readonly { path: string; data: Blob }[];
}

/** Rows that are computed in one run. */
export interface ForwardRows {
  /** Token ids to append, row by row; as many in each, and more than one only where there is a single row (GroupQueryAttention). */
  ids: readonly (readonly number[])[];
  /** Tokens of each row that have KV. */
  lengths: readonly number[];
  /** KV of these rows; absent where none has any. Stays the caller's. */
  past?: KvBatch | undefined;
  /** After how many tokens logits are wanted: of one row, the last so many; of several, after all (1) or none (0). */
  logits: number;
}

export interface ForwardResult {
  /** KV of the rows with the appended tokens; the caller owns it. */
  kv: KvBatch;
  /** f32 logits, one per token of the vocabulary, for each position that was asked for, row after row. Valid until the next call. */
  logits: readonly Float32Array[];
  timing: Required<Pick<StepTiming, 'encodeMs' | 'submitMs' | 'readbackMs'>>;
}

/** A model in onnxruntime-web: token rows in, KV and logits out. Calls must be made one after the other. */
export class OnnxSession {
  readonly layout: KvLayout;
  readonly vocabSize: number;
  readonly #runtime: OrtRuntime;
  readonly #session: InferenceSession;
  readonly #guard: DeviceGuard;
  readonly #clock: Clock;
  readonly #inputs: ReadonlySet<string>;
  readonly #logits: LogitsReader;
  readonly #device: GPUDevice | undefined;

  /** @throws TokenglassError `model-unsupported` if inputs or outputs are not those of a text decoder with KV */
  constructor(runtime: OrtRuntime, session: InferenceSession, guard: DeviceGuard, clock: Clock, device?: GPUDevice) {
    this.layout = readLayout(session);
    this.#runtime = runtime;
    this.#session = session;
    this.#guard = guard;
    this.#clock = clock;
    this.#device = device;
    this.#inputs = new Set(session.inputNames);
    this.vocabSize = readVocabSize(session);
    this.#logits = new LogitsReader(this.vocabSize, device);
  }

  /** The model makes as many logits as it is asked for, and not always one for each token. */
  get keepsWantedLogitsOnly(): boolean {
    return this.#inputs.has('num_logits_to_keep');
  }

  /** Computes `ids` after the tokens that have KV. */
  async forward(rows: ForwardRows): Promise<ForwardResult> {
    const started = this.#clock.now();
    const feeds = this.#feeds(rows);
    const encoded = this.#clock.now();
    const outputs = await this.#guard.call('compute a step', () => this.#session.run(feeds));
    const submitted = this.#clock.now();
    const kv = new KvBatch(this.layout.present.map((name) => outputs[name]!));
    const logitsTensor = outputs['logits']!;
    let logits: readonly Float32Array[] = [];
    try {
      const wanted = rows.logits * rows.ids.length;
      if (wanted > 0) logits = await this.#guard.call('read logits', () => this.#logits.read(logitsTensor, wanted));
      else if (this.#device) await this.#guard.call('compute a step', () => this.#device!.queue.onSubmittedWorkDone());
    } catch (error) {
      if (!this.#guard.error) kv.dispose();
      throw error;
    } finally {
      if (!this.#guard.error) logitsTensor.dispose();
    }
    const timing = {
      encodeMs: encoded - started,
      submitMs: submitted - encoded,
      readbackMs: this.#clock.now() - submitted,
    };
    return { kv, timing, logits };
  }

  #feeds({ ids, lengths, past, logits }: ForwardRows): Record<string, Tensor> {
    const { Tensor } = this.#runtime.ort;
    const rows = ids.length;
    const columns = ids[0]!.length;
    const feeds: Record<string, Tensor> = {
      input_ids: new Tensor('int64', BigInt64Array.from(ids.flat(), BigInt), [rows, columns]),
    };
    if (this.#inputs.has('attention_mask')) {
      // Padding is on the right: GroupQueryAttention takes the sum of a row for its length, and puts new KV there.
      const total = Math.max(...lengths) + columns;
      const mask = new BigInt64Array(rows * total);
      for (const [row, length] of lengths.entries()) mask.fill(1n, row * total, row * total + length + columns);
      feeds['attention_mask'] = new Tensor('int64', mask, [rows, total]);
    }
    if (this.#inputs.has('position_ids')) {
      const positions = ids.flatMap((row, index) => row.map((_, at) => BigInt(lengths[index]! + at)));
      feeds['position_ids'] = new Tensor('int64', BigInt64Array.from(positions), [rows, columns]);
    }
    if (this.#inputs.has('num_logits_to_keep'))
      feeds['num_logits_to_keep'] = new Tensor('int64', [BigInt(Math.max(1, logits))], []);
    this.layout.past.forEach((name, index) => {
      feeds[name] = past?.tensors[index] ?? emptyTensor(this.#runtime.ort, this.layout, rows);
    });
    return feeds;
  }

  /**
   * Gives weights and device back, after the work already given. Does nothing if the device was lost or never answered: the session is left
   * alone then, because onnxruntime-web may still write to it, and a call into it may not return.
   */
  async release(): Promise<void> {
    if (this.#guard.error || this.#guard.isReleased) return;
    const done = this.#runtime.exclusive(async () => {
      if (this.#guard.error || this.#guard.isReleased) return;
      this.#guard.isReleased = true;
      this.#logits.destroy();
      await this.#session.release();
      this.#device?.destroy();
    });
    await this.#guard.race(done).catch(() => undefined);
  }
}

const KNOWN_INPUTS = new Set(['input_ids', 'attention_mask', 'position_ids', 'num_logits_to_keep']);

function readLayout(session: InferenceSession): KvLayout {
  const past = session.inputNames.filter((name) => /^past_key_values\.\d+\.(?:key|value)$/.test(name));
  const layers = past.length / 2;
  const wanted = Array.from({ length: layers }, (_, layer) => [`${layer}.key`, `${layer}.value`]).flat();
  const names = wanted.map((name) => `past_key_values.${name}`);
  const presents = wanted.map((name) => `present.${name}`);
  const strange = session.inputNames.filter((name) => !KNOWN_INPUTS.has(name) && !names.includes(name));
  const missing = [
    ...['input_ids', ...names].filter((name) => !session.inputNames.includes(name)),
    ...['logits', ...presents].filter((name) => !session.outputNames.includes(name)),
  ];
  if (past.length === 0) missing.push('past_key_values.0.key');
  if (strange.length + missing.length > 0) {
    const what = [...strange.map((name) => `unknown input ${name}`), ...missing.map((name) => `no ${name}`)].join(', ');
    const message = `Cannot run the ONNX model: it is not a text decoder with past_key_values (${what}); take another export`;
    throw new TokenglassError('model-unsupported', message, { details: { strange, missing } });
  }
  const shapes = session.inputMetadata.flatMap((meta) => (meta.isTensor && names.includes(meta.name) ? [meta] : []));
  const [, kvHeads, , headDim] = shapes[0]?.shape ?? [];
  const type = shapes[0]?.type;
  const alike = shapes.every(
    ({ shape, type: other }) => shape[1] === kvHeads && shape[3] === headDim && other === type,
  );
  if (typeof kvHeads !== 'number' || typeof headDim !== 'number' || !isKvType(type) || !alike) {
    const message = `Cannot run the ONNX model: its KV is not one shape of float32 or float16 in all layers; take another export`;
    throw new TokenglassError('model-unsupported', message, { details: { type, kvHeads, headDim } });
  }
  return { past: names, present: presents, layers, kvHeads, headDim, type };
}

const isKvType = (type: unknown): type is KvType => type === 'float32' || type === 'float16';

function readVocabSize(session: InferenceSession): number {
  const meta = session.outputMetadata.find(({ name }) => name === 'logits');
  const size = meta?.isTensor ? meta.shape.at(-1) : undefined;
  if (typeof size === 'number' && size > 0) return size;
  const message = 'Cannot run the ONNX model: its logits have no fixed size; take another export';
  throw new TokenglassError('model-unsupported', message);
}

/**
 * Makes a session. To be called within `runtime.exclusive`.
 * @param device where to compute; absent: on the CPU, by WASM
 * @throws TokenglassError `model-invalid`, `model-unsupported`, `model-too-large`
 */
export async function createInferenceSession(
  runtime: OrtRuntime,
  files: SessionFiles,
  device?: GPUDevice,
): Promise<InferenceSession> {
  try {
    return await runtime.ort.InferenceSession.create(files.model, {
      executionProviders: device ? [{ name: 'webgpu', device: device }] : ['wasm'],
      ...(device && { preferredOutputLocation: 'gpu-buffer' }),
      ...(files.externalData.length > 0 && { externalData: [...files.externalData] }),
      graphOptimizationLevel: 'all',
      // Only errors: each load would warn that shape operators run on the CPU.
      logSeverityLevel: 3,
    });
  } catch (cause) {
    throw sessionError(cause);
  }
}

/** onnxruntime-web has one class of error; the message tells them apart. */
function sessionError(cause: unknown): TokenglassError {
  const text = cause instanceof Error ? cause.message : String(cause);
  if (/bad_alloc|out of memory|failed to allocate|memory allocation|Array buffer allocation/i.test(text)) {
    const message = 'Cannot load the ONNX model: it does not fit in the memory there is; take a smaller model';
    return new TokenglassError('model-too-large', message, { cause });
  }
  if (/protobuf|INVALID_PROTOBUF|INVALID_GRAPH|parsing/i.test(text)) {
    const message = 'Cannot load the ONNX model: the file is broken; download it again';
    return new TokenglassError('model-invalid', message, { cause });
  }
  const message = `Cannot load the ONNX model: onnxruntime-web says "${text}"; take another model or engine`;
  return new TokenglassError('model-unsupported', message, { cause });
}
