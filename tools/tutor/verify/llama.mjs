// The GGUF file in llama.cpp (node-llama-cpp, CPU) against the reference: tokenization, log-probabilities and top-1 under teacher
// forcing, free greedy answers. With --fixture FILE it writes llama.cpp's own tokens for the tests of the repository.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import { argmax, logSoftmax, modelFolder, reference, referenceLogits, Verdict, VOCAB } from './common.mjs';

// llama.cpp rounds activations to 8 bits (Q8_0) before it multiplies them with Q4_0 weights; the reference does not.
const LOGPROB_TOLERANCE = 0.35; // of the log-probability of the token that the reference chose, absolute
const LIMIT = 48;
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: fileURLToPath(new URL('tutor.q4_0.gguf', modelFolder)) });
const context = await model.createContext({ contextSize: 512, batchSize: 512, threads: 1, flashAttention: false });
const sequence = context.getSequence();
const verdict = new Verdict();

const differing = reference.texts.filter(({ text, ids }) => model.tokenize(text, false).join() !== ids.join());
verdict.check('tokenization of texts', `${reference.texts.length - differing.length} of ${reference.texts.length} equal`, differing.length === 0);

const template = model.fileInfo.metadata.tokenizer.chat_template;
const render = (prompt) => `<|bos|><|user|>\n${prompt}<|end|>\n<|assistant|>\n`;
const wrong = reference.prompts.filter(({ prompt, ids }) => model.tokenize(render(prompt), true).join() !== ids.join());
verdict.check('tokenization of prompts with markers', `${reference.prompts.length - wrong.length} of ${reference.prompts.length} equal`, wrong.length === 0);
verdict.check('bos, end, template', [model.tokens.bos, model.tokens.eos, model.tokens.eot, template.length], model.tokens.bos === 0 && model.tokens.eos === 1);

/** llama.cpp's distribution after each of the given tokens, from the last prompt token on. */
async function forced(ids, answer) {
  await sequence.clearHistory();
  const want = { generateNext: { token: true, probabilities: true } };
  const input = [...ids.slice(0, -1), [ids.at(-1), want], ...answer.slice(0, -1).map((t) => [t, want])];
  const out = await sequence.controlledEvaluate(input);
  return out.filter((o) => o?.next !== undefined).map((o) => o.next);
}

async function greedyAnswer(ids) {
  await sequence.clearHistory();
  const out = [];
  for await (const token of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true })) {
    out.push(token);
    if (out.length === LIMIT || token === model.tokens.eos) break;
  }
  return out;
}

const wanted = referenceLogits();
let at = 0;
let top1 = 0;
let worst = 0;
let positions = 0;
let equalAnswers = 0;
const fixture = [];
for (const { prompt, ids, greedy } of reference.prompts) {
  const got = await forced(ids, greedy);
  got.forEach(({ probabilities }, i) => {
    const row = wanted.subarray((at + i) * VOCAB, (at + i + 1) * VOCAB);
    const best = argmax(row);
    let [first] = probabilities.entries();
    for (const entry of probabilities) if (entry[1] > first[1]) first = entry;
    top1 += first[0] === best;
    worst = Math.max(worst, Math.abs(Math.log(probabilities.get(best) ?? 1e-9) - logSoftmax(row)[best]));
  });
  at += greedy.length;
  positions += got.length;
  const answer = await greedyAnswer(ids);
  equalAnswers += answer.join() === greedy.join();
  fixture.push({ prompt, ids, greedy: answer });
}
const share = top1 / positions;
verdict.check('teacher-forced top-1', `${top1} of ${positions} (${(100 * share).toFixed(2)} %)`, share >= 0.98 && positions === at);
verdict.check('log-probability of the top token, largest difference', worst.toFixed(4), worst < LOGPROB_TOLERANCE);
console.log(`     free greedy answers equal: ${equalAnswers} of ${fixture.length}`);

const flag = process.argv.indexOf('--fixture');
if (flag > 0) {
  const about = {
    what: 'Greedy tokens of tutor.q4_0.gguf by llama.cpp on the CPU, at most 48 a prompt; each prompt is one user turn without a system message.',
    by: `node-llama-cpp 3.22.1, llama.cpp ${llama.llamaCppRelease?.release ?? 'prebuilt'}`,
    end: model.tokens.eos,
  };
  const rows = fixture.map((row) => `    ${JSON.stringify(row)}`).join(',\n');
  const texts = reference.texts.map(({ text }) => `    ${JSON.stringify({ text, ids: [...model.tokenize(text, false)] })}`).join(',\n');
  writeFileSync(process.argv[flag + 1], `{\n  "about": ${JSON.stringify(about)},\n  "prompts": [\n${rows}\n  ],\n  "texts": [\n${texts}\n  ]\n}\n`);
}
verdict.end();
