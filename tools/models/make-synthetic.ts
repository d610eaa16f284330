import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { BLOCK_LAYOUTS } from '../../src/runtime/models/gguf/tensor-types.ts';
import { SHAPES, syntheticGgufChunks, type SyntheticModel } from '../../src/runtime/models/testing/synthetic-model.ts';

/**
 * Writes a GGUF file with random weights and a filler vocabulary: the size and the speed of a real model without its download. The same
 * arguments give the same bytes.
 */
const USAGE = `node --import tsx tools/models/make-synthetic.ts --out FILE [options]

  --shape NAME            ${Object.keys(SHAPES).join(', ')}  (default tutor)
  --architecture NAME     llama, qwen2, qwen3, gemma3, phi3  (default llama)
  --quantization NAME     ${Object.keys(BLOCK_LAYOUTS).join(', ')}, Q4_K_M  (default Q4_0)
  --embedding NAME        type of embedding and output, if another
  --layers N, --hidden N, --heads N, --kv-heads N, --head-dim N, --ffn N, --vocab N   instead of the shape's
  --context N             (default 2048)
  --tied                  no output matrix of its own
  --rope-scaling NAME     linear, yarn, factors, longrope
  --seed N                (default 1)
`;

const SIZES = ['layers', 'hidden', 'heads', 'kv-heads', 'head-dim', 'ffn', 'vocab', 'context', 'seed'] as const;
const text = { type: 'string' } as const;

const { values } = parseArgs({
  options: {
    out: text,
    shape: { ...text, default: 'tutor' },
    architecture: { ...text, default: 'llama' },
    quantization: { ...text, default: 'Q4_0' },
    embedding: text,
    'rope-scaling': text,
    tied: { type: 'boolean' },
    help: { type: 'boolean' },
    ...(Object.fromEntries(SIZES.map((name) => [name, text])) as Record<(typeof SIZES)[number], typeof text>),
  },
});

if (values.help === true || values.out === undefined) {
  console.log(USAGE);
  process.exit(values.help === true ? 0 : 1);
}
if (!(values.shape in SHAPES)) throw new RangeError(`Cannot make the shape "${values.shape}": see --help`);

const camelCase = (name: string) => name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
const model = {
  ...SHAPES[values.shape as keyof typeof SHAPES],
  ...Object.fromEntries(SIZES.flatMap((name) => (values[name] === undefined ? [] : [[camelCase(name), Number(values[name])]]))),
  architecture: values.architecture,
  quantization: values.quantization,
  ...(values.embedding === undefined ? {} : { embeddingType: values.embedding }),
  ...(values['rope-scaling'] === undefined ? {} : { ropeScaling: values['rope-scaling'] }),
  ...(values.tied === undefined ? {} : { tied: values.tied }),
} as SyntheticModel; // Names from the command line: a wrong one fails at its first use.

const file = createWriteStream(values.out);
let bytes = 0;
for (const chunk of syntheticGgufChunks(model)) {
  bytes += chunk.length;
  if (!file.write(chunk)) await once(file, 'drain');
}
file.end();
await finished(file);
console.log(`${values.out}: ${(bytes / 1e6).toFixed(1)} MB`);
