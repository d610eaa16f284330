import type { HostRows } from './weights/host-rows.ts';

/** Sends the values that the tokens of a step have for each layer, from a table in JavaScript memory to the device. */
export class LayerRows {
  readonly #table: HostRows;
  readonly #buffer: GPUBuffer;
  readonly #stride: number;
  readonly #values: Float32Array<ArrayBuffer>;

  /** @param rows of a step at most */
  constructor(table: HostRows, buffer: GPUBuffer, stride: number, rows: number) {
    this.#table = table;
    this.#buffer = buffer;
    this.#stride = stride;
    this.#values = new Float32Array(rows * stride);
  }

  write(queue: GPUQueue, tokens: readonly number[]): void {
    this.#table.read(tokens, this.#values, this.#stride);
    queue.writeBuffer(this.#buffer, 0, this.#values, 0, tokens.length * this.#stride);
  }
}
