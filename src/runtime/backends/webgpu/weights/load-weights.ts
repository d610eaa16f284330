import { abortError } from '../../../../shared/errors.ts';
import type { ModelDescription } from '../../../models/architectures/model-config.ts';
import type { ByteReader } from '../../../models/gguf/byte-reader.ts';
import { dequantize } from '../../../models/gguf/dequantize.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import { ggmlByteLength } from '../../../models/gguf/tensor-types.ts';
import { digestOfDigests, sha256 } from '../../weights/digest.ts';
import { repackRows } from '../../weights/repack.ts';
import { unitsPerRow } from '../../weights/unit-formats.ts';
import { FORMATS, type DeviceMatrix } from '../kernels/formats/formats.ts';
import type { GpuContext } from '../device.ts';
import { HostRows } from './host-rows.ts';
import type { MatrixPlan, MatrixSource } from './matrix-plan.ts';
import type { WeightPlan } from './weight-plan.ts';

/** Bytes of the file that are repacked at a time. */
const CHUNK_BYTES = 2 ** 21;

export interface LoadedWeights {
  matrices: ReadonlyMap<MatrixPlan, DeviceMatrix>;
  /** Norms, biases and rotary factors, as f32. */
  vectors: ReadonlyMap<GgufTensorInfo, Float32Array>;
  /** Values of each token for each layer, which stay in JavaScript memory. */
  layerTable?: HostRows;
}

/** Makes the buffers of all matrices, zeroed. */
export function createMatrices(
  { memory }: GpuContext,
  plan: Pick<WeightPlan, 'matrices'>,
): Map<MatrixPlan, DeviceMatrix> {
  return new Map(
    plan.matrices.map((matrix) => {
      const { label, format, rows, cols } = matrix;
      const units = rows * unitsPerRow(format, cols);
      const { scaleBytes } = FORMATS[format];
      return [
        matrix,
        {
          format,
          rows,
          cols,
          // [rows, units] of 16 bytes
          units: memory.create(`${label}: units`, units * 16),
          // [rows, units] of f16
          ...(scaleBytes > 0 && { scales: memory.create(`${label}: scales`, units * scaleBytes) }),
        },
      ];
    }),
  );
}

export interface StreamOptions {
  /** Calls with the bytes of tensor data read so far. */
  onBytes?: (bytes: number) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Reads tensor data once, front to back, and repacks it to the device while it comes; one chunk of it is in memory, besides what the
 * stream itself holds.
 *
 * @param reader stands anywhere before the first tensor
 * @throws TokenglassError `model-invalid` if the file ends early; `AbortError`
 */
export async function streamWeights(
  { device, watchdog }: GpuContext,
  reader: ByteReader,
  description: ModelDescription,
  matrices: ReadonlyMap<MatrixPlan, DeviceMatrix>,
  { onBytes, signal }: StreamOptions = {},
): Promise<{ loaded: LoadedWeights; fingerprint: string }> {
  const targets = new Map<GgufTensorInfo, { source: MatrixSource; matrix: DeviceMatrix }[]>();
  for (const [plan, matrix] of matrices) {
    for (const source of plan.sources) {
      const list = targets.get(source.tensor) ?? [];
      list.push({ source, matrix });
      targets.set(
        source.tensor,
        list.sort((a, b) => a.source.fromRow - b.source.fromRow),
      );
    }
  }
  const table = description.weights.layerTable;
  const layerTable = table && new HostRows(table);
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
  const tensors = [...new Set(allTensors(description))].sort((a, b) => a.offset - b.offset);
  for (const tensor of tensors) {
    await reader.skipTo(tensor.offset);
    const uses = targets.get(tensor);
    if (tensor === table) {
      const rowBytes = ggmlByteLength(tensor.type, tensor.shape[0]!);
      const most = Math.max(1, Math.floor(CHUNK_BYTES / rowBytes));
      for (let row = 0; row < tensor.shape[1]!; row += most)
        layerTable!.add(await read(Math.min(most, tensor.shape[1]! - row) * rowBytes));
      continue;
    }
    if (!uses) {
      vectors.set(tensor, dequantize(tensor.type, await read(tensor.byteLength)));
      continue;
    }
    const rowBytes = ggmlByteLength(tensor.type, tensor.shape[0]!);
    // An even number of rows, so that their scales are whole words.
    const most = Math.max(2, 2 * Math.floor(CHUNK_BYTES / rowBytes / 2));
    for (const { source, matrix } of uses) {
      for (let row = 0; row < source.rows; row += most) {
        const count = Math.min(most, source.rows - row);
        const packed = repackRows(tensor.type, matrix.format, await read(count * rowBytes), matrix.cols);
        const unit = (source.toRow + row) * unitsPerRow(matrix.format, matrix.cols);
        device.queue.writeBuffer(matrix.units, unit * 16, packed.units);
        if (matrix.scales) {
          device.queue.writeBuffer(matrix.scales, unit * FORMATS[matrix.format].scaleBytes, packed.scales);
        }
        // Uploads are copies that pile up in the GPU process unless it is given time to do them.
        await watchdog.watch('load the weights', device.queue.onSubmittedWorkDone());
      }
    }
  }
  return {
    loaded: { matrices, vectors, ...(layerTable && { layerTable }) },
    fingerprint: await digestOfDigests(digests),
  };
}

function* allTensors({ layers, weights }: ModelDescription): Generator<GgufTensorInfo> {
  yield* Object.values<GgufTensorInfo>({ ...weights });
  for (const { blocks } of layers)
    for (const block of blocks) yield* Object.values<GgufTensorInfo>({ ...block.weights });
}
