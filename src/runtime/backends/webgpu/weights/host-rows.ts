import { dequantize } from '../../../models/gguf/dequantize.ts';
import type { GgufTensorInfo } from '../../../models/gguf/header.ts';
import { ggmlByteLength } from '../../../models/gguf/tensor-types.ts';

/** A matrix in JavaScript memory, as it lies in the file, of which a few rows are needed at a time: a table by token. */
export class HostRows {
  readonly #tensor: GgufTensorInfo;
  readonly #rowBytes: number;
  /** Whole rows in each piece: one array of gigabytes is more than some browsers give. */
  readonly #pieces: Uint8Array[] = [];
  #rowsInPiece = 0;

  constructor(tensor: GgufTensorInfo) {
    this.#tensor = tensor;
    this.#rowBytes = ggmlByteLength(tensor.type, tensor.shape[0]!);
  }

  /** Adds the next rows; all pieces but the last have the same number. */
  add(bytes: Uint8Array): void {
    this.#rowsInPiece ||= bytes.length / this.#rowBytes;
    this.#pieces.push(bytes.slice());
  }

  /** Writes the values of rows to `out`, `stride` numbers apart. */
  read(rows: readonly number[], out: Float32Array, stride: number): void {
    const { type } = this.#tensor;
    for (const [index, row] of rows.entries()) {
      const piece = this.#pieces[Math.floor(row / this.#rowsInPiece)]!;
      const at = (row % this.#rowsInPiece) * this.#rowBytes;
      out.set(dequantize(type, piece.subarray(at, at + this.#rowBytes)), index * stride);
    }
  }
}
