import { abortError } from '../../../shared/errors.ts';
import { ropeTable } from '../../blocks/attention/rope-tables.ts';
import type { ModelDescription } from '../../models/architectures/model-config.ts';
import type { ByteReader } from '../../models/gguf/byte-reader.ts';
import { dequantize } from '../../models/gguf/dequantize.ts';
import type { GgufTensorInfo } from '../../models/gguf/header.ts';
import { ggmlByteLength } from '../../models/gguf/tensor-types.ts';
import { digestOfDigests, sha256 } from '../weights/digest.ts';
import { ropesOf, tensorsOf, type WasmPlan } from './plan.ts';
import { placeRows } from './weights.ts';

/** Bytes of the file that are repacked at a time. */
const CHUNK_BYTES = 2 ** 20;

export interface StreamOptions {
  /** Calls with the bytes of tensor data read so far. */
  onBytes?: (bytes: number) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Reads tensor data once, front to back, and puts it to its place; one chunk of it is in memory besides.
 * @returns one name for all of it: a digest
 * @throws TokenglassError `model-invalid` if the file ends early; `AbortError`
 */
export async function loadWeights(
  memory: ArrayBufferLike,
  reader: ByteReader,
  description: ModelDescription,
  plan: WasmPlan,
  { onBytes, signal }: StreamOptions,
): Promise<string> {
  const floats = new Float32Array(memory);
  const vectors = new Map<GgufTensorInfo, Float32Array>();
  const digests: Uint8Array[] = [];
  let done = 0;
  const read = async (bytes: number): Promise<Uint8Array> => {
    if (signal?.aborted) throw abortError(signal);
    const chunk = await reader.read(bytes);
    digests.push(await sha256(chunk));
    done += bytes;
    onBytes?.(done);
    return chunk;
  };
  for (const tensor of [...tensorsOf(description)].sort((a, b) => a.offset - b.offset)) {
    await reader.skipTo(tensor.offset);
    const matrix = plan.matrices.get(tensor);
    if (!matrix) {
      const values = dequantize(tensor.type, await read(tensor.byteLength));
      vectors.set(tensor, values);
      floats.set(values, plan.vectors.get(tensor)! / 4);
      continue;
    }
    const rowBytes = ggmlByteLength(tensor.type, matrix.cols);
    const most = Math.max(1, Math.floor(CHUNK_BYTES / rowBytes));
    for (let row = 0; row < matrix.rows; row += most) {
      const count = Math.min(most, matrix.rows - row);
      placeRows(memory, matrix, await read(count * rowBytes), row);
    }
  }
  for (const [key, rope] of ropesOf(description.config)) {
    floats.set(ropeTable(rope, plan.contextTokens, description.weights, vectors), plan.ropes.get(key)! / 4);
  }
  return digestOfDigests(digests);
}
