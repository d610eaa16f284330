import type { LayerWeights, ModelDescription } from '../../../models/architectures/model-config.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import { matrixBytes, type WeightFormat } from '../kernels/formats/formats.ts';
import { DEVICE_FORMATS } from './repack.ts';

/** Rows of a tensor that go to a matrix. */
export interface MatrixSource {
  tensor: GgufTensorInfo;
  /** First row of the tensor that is taken, and how many. */
  fromRow: number;
  rows: number;
  /** Row of the matrix where they begin; even, so that scales stay aligned. */
  toRow: number;
}

/** A matrix as it will lie on the device, of rows of one or more tensors. */
export interface MatrixPlan {
  label: string;
  format: WeightFormat;
  rows: number;
  cols: number;
  sources: readonly MatrixSource[];
  /** Rows of what it belongs to (q, k and v together, say) that come before it. */
  offset: number;
}

export interface LayerPlan {
  /** q, k, v in this order: one matrix, or several where their formats differ. */
  qkv: readonly MatrixPlan[];
  attnOutput: MatrixPlan;
  /** Gate rows, then up rows. */
  gateUp: MatrixPlan;
  down: MatrixPlan;
}

export interface WeightPlan {
  /** In parts, where one would be above the binding limit. */
  embedding: readonly MatrixPlan[];
  /** The same objects as `embedding` when tied. */
  output: readonly MatrixPlan[];
  layers: readonly LayerPlan[];
  /** Every matrix once. */
  matrices: readonly MatrixPlan[];
  /** Bytes of all matrices, and of the largest: one that is no vocabulary is never split. */
  bytes: number;
  largestBytes: number;
}

export interface PlanLimits {
  maxBindingBytes: number;
}

/** Decides how weights lie on the device, from the header alone. */
export function planWeights({ weights }: ModelDescription, limits: PlanLimits): WeightPlan {
  const embedding = splitRows('embedding', weights.tokenEmbedding, limits);
  const output = weights.output ? splitRows('output', weights.output, limits) : embedding;
  const layers = weights.layers.map((layer, index) => planLayer(layer, index));
  const matrices = [...new Set([...embedding, ...output, ...layers.flatMap(layerMatrices)])];
  const sizes = matrices.map(planBytes);
  return {
    embedding,
    output,
    layers,
    matrices,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    largestBytes: Math.max(...sizes),
  };
}

export function planBytes({ format, rows, cols }: MatrixPlan): number {
  return matrixBytes(format, rows, cols);
}

export function layerMatrices(layer: LayerPlan): MatrixPlan[] {
  return [...layer.qkv, layer.attnOutput, layer.gateUp, layer.down];
}

function planLayer(layer: LayerWeights, index: number): LayerPlan {
  const prefix = `layer ${index}`;
  return {
    qkv: layer.qkv
      ? [whole(`${prefix} qkv`, layer.qkv)]
      : runsOfFormat(`${prefix} qkv`, [layer.q!, layer.k!, layer.v!]),
    attnOutput: whole(`${prefix} attention output`, layer.attnOutput),
    gateUp: layer.gateUp
      ? whole(`${prefix} gate up`, layer.gateUp)
      : stack(`${prefix} gate up`, [layer.gate!, layer.up!]),
    down: whole(`${prefix} down`, layer.down),
  };
}

const rowsOf = (tensor: GgufTensorInfo): number => tensor.shape[1]!;
const colsOf = (tensor: GgufTensorInfo): number => tensor.shape[0]!;

function whole(label: string, tensor: GgufTensorInfo): MatrixPlan {
  return stack(label, [tensor]);
}

/** One matrix of all rows; where formats differ, of f16 (mixed gate and up do not occur in files of llama.cpp). */
function stack(label: string, tensors: readonly GgufTensorInfo[], offset = 0): MatrixPlan {
  const formats = new Set(tensors.map(({ type }) => DEVICE_FORMATS[type]));
  let toRow = 0;
  const sources = tensors.map((tensor): MatrixSource => {
    const source = { tensor, fromRow: 0, rows: rowsOf(tensor), toRow };
    toRow += source.rows;
    return source;
  });
  const [format] = formats;
  return {
    label,
    format: formats.size === 1 ? format! : 'f16',
    rows: toRow,
    cols: colsOf(tensors[0]!),
    sources,
    offset,
  };
}

/** Neighbours of the same format as one matrix (Q4_K_M has some v in Q6_K). */
function runsOfFormat(label: string, tensors: readonly GgufTensorInfo[]): MatrixPlan[] {
  const plans: MatrixPlan[] = [];
  let run: GgufTensorInfo[] = [];
  let offset = 0;
  const flush = () => {
    if (run.length === 0) return;
    const plan = stack(label, run, offset);
    offset += plan.rows;
    plans.push(plan);
    run = [];
  };
  for (const tensor of tensors) {
    if (run.length > 0 && DEVICE_FORMATS[run[0]!.type] !== DEVICE_FORMATS[tensor.type]) flush();
    run.push(tensor);
  }
  flush();
  return plans;
}

/** A vocabulary matrix, cut by rows where it is above the binding limit. */
function splitRows(label: string, tensor: GgufTensorInfo, { maxBindingBytes }: PlanLimits): MatrixPlan[] {
  const format = DEVICE_FORMATS[tensor.type];
  const [rows, cols] = [rowsOf(tensor), colsOf(tensor)];
  const perRow = matrixBytes(format, 1, cols);
  // A multiple of 8 keeps scales of every part aligned.
  const most = Math.max(8, Math.floor(maxBindingBytes / perRow / 8) * 8);
  const plans: MatrixPlan[] = [];
  for (let from = 0; from < rows; from += most) {
    const count = Math.min(most, rows - from);
    plans.push({
      label: `${label} ${from}`,
      format,
      rows: count,
      cols,
      sources: [{ tensor, fromRow: from, rows: count, toRow: 0 }],
      offset: from,
    });
  }
  return plans;
}
