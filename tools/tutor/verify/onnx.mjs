// The ONNX file in onnxruntime-web (WASM) against the reference: logits of a prefill, logits and tokens of step-by-step decoding with
// past_key_values, tokenization by @huggingface/tokenizers, and the chat template by @huggingface/jinja.
import { readFileSync } from 'node:fs';
import { Template } from '@huggingface/jinja';
import { Tokenizer } from '@huggingface/tokenizers';
import * as ort from 'onnxruntime-web';
import { argmax, modelFolder, readJson, reference, referenceLogits, Verdict, VOCAB } from './common.mjs';

const LAYERS = 6;
const TOLERANCE = 2e-3; // of a logit, absolute: two f32 runtimes that add in different orders
ort.env.wasm.numThreads = 1;
const session = await ort.InferenceSession.create(readFileSync(new URL('onnx/model_q4.onnx', modelFolder)), { executionProviders: ['wasm'] });
const verdict = new Verdict();

const emptyPast = () =>
  Object.fromEntries(
    Array.from({ length: LAYERS }, (_, i) => ['key', 'value'].map((n) => [`past_key_values.${i}.${n}`, new ort.Tensor('float32', [], [1, 2, 0, 64])])).flat(),
  );

/** Runs `ids` after `past`; returns rows of logits and the new past. */
async function step(ids, past, length) {
  const total = length + ids.length;
  const out = await session.run({
    input_ids: new ort.Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
    attention_mask: new ort.Tensor('int64', new BigInt64Array(total).fill(1n), [1, total]),
    ...past,
  });
  const next = Object.fromEntries(
    Object.entries(out).filter(([k]) => k.startsWith('present.')).map(([k, v]) => [k.replace('present', 'past_key_values'), v]),
  );
  return { rows: ids.map((_, i) => out.logits.data.subarray(i * VOCAB, (i + 1) * VOCAB)), past: next };
}

const distance = (a, b) => a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
const wanted = referenceLogits();
let at = 0;
let worstPrefill = 0;
let worstDecode = 0;
let same = 0;
let positions = 0;
for (const { ids, greedy } of reference.prompts) {
  const row = (i) => wanted.subarray((at + i) * VOCAB, (at + i + 1) * VOCAB);
  const whole = await step([...ids, ...greedy.slice(0, -1)], emptyPast(), 0);
  whole.rows.slice(ids.length - 1).forEach((got, i) => (worstPrefill = Math.max(worstPrefill, distance(got, row(i)))));
  let { rows, past } = await step(ids, emptyPast(), 0);
  for (let i = 0; i < greedy.length; i++) {
    const got = rows.at(-1);
    worstDecode = Math.max(worstDecode, distance(got, row(i)));
    same += argmax(got) === greedy[i];
    if (i + 1 < greedy.length) ({ rows, past } = await step([greedy[i]], past, ids.length + i));
  }
  at += greedy.length;
  positions += greedy.length;
}
verdict.check('prefill logits, largest difference', worstPrefill.toExponential(2), worstPrefill < TOLERANCE);
verdict.check('decode logits, largest difference', worstDecode.toExponential(2), worstDecode < TOLERANCE);
verdict.check('greedy tokens', `${same} of ${positions} equal`, same === positions);

const config = readJson(new URL('tokenizer_config.json', modelFolder));
const tokenizer = new Tokenizer(readJson(new URL('tokenizer.json', modelFolder)), config);
const differing = reference.texts.filter(({ text, ids }) => tokenizer.encode(text, { add_special_tokens: false }).ids.join() !== ids.join());
verdict.check('tokenization of texts by @huggingface/tokenizers', `${reference.texts.length - differing.length} of ${reference.texts.length} equal`, differing.length === 0);
const unlike = reference.texts.filter(({ text, ids }) => ids.length > 0 && tokenizer.decode(ids) !== text);
verdict.check('decoded texts', `${reference.texts.length - unlike.length} of ${reference.texts.length} equal`, unlike.length === 0);

const template = new Template(config.chat_template);
const render = (messages) => template.render({ messages, bos_token: config.bos_token, add_generation_prompt: true });
const wrong = reference.prompts.filter(({ prompt, ids }) => {
  const text = render([{ role: 'user', content: prompt }]);
  return tokenizer.encode(text, { add_special_tokens: false }).ids.join() !== ids.join();
});
verdict.check('chat template by @huggingface/jinja', `${reference.prompts.length - wrong.length} of ${reference.prompts.length} equal`, wrong.length === 0);
verdict.end();
