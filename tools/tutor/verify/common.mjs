// What the checks share: the reference of reference.py and the comparison of logits.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

// make.sh copies these scripts beside their packages, outside the repository, and names the two folders.
const folder = (name) => new URL(`${pathToFileURL(process.env[name]).href}/`);
const build = folder('TUTOR_BUILD');
export const modelFolder = folder('TUTOR_MODEL');
export const VOCAB = 2048;

export const readJson = (url) => JSON.parse(readFileSync(url, 'utf8'));
export const reference = readJson(new URL('reference.json', build));

/** Logits of the reference for every answer position, one row of VOCAB after the other, prompts in order. */
export const referenceLogits = () => {
  const bytes = readFileSync(new URL('reference-logits.f32', build));
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
};

export const argmax = (row) => row.reduce((best, value, i) => (value > row[best] ? i : best), 0);

/** log softmax of a row of logits. */
export const logSoftmax = (row) => {
  const peak = row.reduce((a, b) => Math.max(a, b), -Infinity);
  const sum = row.reduce((total, value) => total + Math.exp(value - peak), 0);
  return Float64Array.from(row, (value) => value - peak - Math.log(sum));
};

/** Counts what is compared and ends the process with a failure if anything missed its limit. */
export class Verdict {
  #failed = false;
  check(name, measured, passed) {
    console.log(`${passed ? 'ok  ' : 'FAIL'} ${name}: ${measured}`);
    this.#failed ||= !passed;
  }
  end() {
    process.exit(this.#failed ? 1 : 0);
  }
}
