import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import { DEVICE_FORMATS } from '../../weights/repack.ts';
import { matrixBytes, type WeightFormat } from '../../weights/unit-formats.ts';

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
  /** Rows are gate rows and as many up rows, which an activation joins. */
  gated?: boolean;
  /** It holds `count` matrices, of which each token row needs `used`. */
  picked?: { used: number; count: number };
}

export function planBytes({ format, rows, cols }: MatrixPlan): number {
  return matrixBytes(format, rows, cols);
}

/** Rows of a matrix, or of all matrices of a tensor of several. */
const rowsOf = ({ shape }: GgufTensorInfo): number => shape.slice(1).reduce((product, size) => product * size, 1);
const colsOf = (tensor: GgufTensorInfo): number => tensor.shape[0]!;

/** Rows of a tensor, in the order of a matrix. */
export interface RowPiece {
  tensor: GgufTensorInfo;
  ranges: readonly { fromRow: number; rows: number }[];
}

const pieceOf = (piece: GgufTensorInfo | RowPiece): RowPiece =>
  'ranges' in piece ? piece : { tensor: piece, ranges: [{ fromRow: 0, rows: rowsOf(piece) }] };

/** One matrix of all rows; where formats differ, of f16 (mixed gate and up do not occur in files of llama.cpp). */
export function stackRows(
  label: string,
  parts: readonly (GgufTensorInfo | RowPiece)[],
  { offset = 0, gated = false }: { offset?: number; gated?: boolean } = {},
): MatrixPlan {
  const pieces = parts.map(pieceOf);
  const [format, ...others] = new Set(pieces.map(({ tensor }) => DEVICE_FORMATS[tensor.type]));
  const sources: MatrixSource[] = [];
  let toRow = 0;
  for (const { tensor, ranges } of pieces)
    for (const { fromRow, rows } of ranges) {
      sources.push({ tensor, fromRow, rows, toRow });
      toRow += rows;
    }
  return {
    label,
    format: others.length === 0 ? format! : 'f16',
    rows: toRow,
    cols: colsOf(pieces[0]!.tensor),
    sources,
    offset,
    ...(gated && { gated }),
  };
}

/** Neighbours of the same format as one matrix (Q4_K_M has some v in Q6_K). */
export function runsOfFormat(label: string, parts: readonly (GgufTensorInfo | RowPiece)[]): MatrixPlan[] {
  const plans: MatrixPlan[] = [];
  let run: RowPiece[] = [];
  let offset = 0;
  const flush = () => {
    if (run.length === 0) return;
    const plan = stackRows(label, run, { offset });
    offset += plan.rows;
    plans.push(plan);
    run = [];
  };
  for (const piece of parts.map(pieceOf)) {
    if (run.length > 0 && DEVICE_FORMATS[run[0]!.tensor.type] !== DEVICE_FORMATS[piece.tensor.type]) flush();
    run.push(piece);
  }
  flush();
  return plans;
}

/** A vocabulary matrix, cut by rows where it is above the binding limit. */
export function splitRows(label: string, tensor: GgufTensorInfo, maxBindingBytes: number): MatrixPlan[] {
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
