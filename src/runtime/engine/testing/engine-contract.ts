import { expect } from 'chai';
import type { GenerateRequest } from '../../../shared/generation.ts';
import type { Engine } from '../../request/engine.ts';
import { answer, type Answer } from './collect.ts';
import { describeAborts } from './engine-contract-abort.ts';
import { describeAnswers } from './engine-contract-answer.ts';
import { describeRefusals } from './engine-contract-refusal.ts';

export interface EngineContractOptions {
  /** Output tokens of the requests; at least 6. @default 12 */
  tokens?: number;
  /** Of each test. @default 60000 */
  timeoutMs?: number;
  /** False for an engine that cannot take `promptTokens` (one behind an API of text). @default true */
  takesTokenIds?: boolean;
  /** False for an engine that cannot go on past an end token; answers may then be shorter. @default true */
  ignoresEos?: boolean;
}

/** What the parts of the suite share. */
export interface Subject {
  make: () => Promise<Engine>;
  /** The engine of most tests; never disposed of by one of them. */
  engine: () => Engine;
  options: Required<EngineContractOptions>;
  /** Requests of different prompts, lengths and sampling; repeatable. */
  requests: readonly GenerateRequest[];
  /** What the engine answers to each of them alone. */
  solo: () => readonly Answer[];
  /** Asks for `requests[0]` and expects its solo answer. */
  expectUsable: () => Promise<void>;
}

/**
 * The promises of {@link Engine}, checked on engines made by `make`; every engine runs it.
 *
 * @example
 * ```ts
 * engineContract('worker client', () => createEngine({ model: 'tutor', engine: 'onnx-wasm' }));
 * ```
 */
export function engineContract(name: string, make: () => Promise<Engine>, given: EngineContractOptions = {}): void {
  const options = { tokens: 12, timeoutMs: 60_000, takesTokenIds: true, ignoresEos: true, ...given };
  const fixed = { maxTokens: options.tokens, ignoreEos: options.ignoresEos };
  const requests: readonly GenerateRequest[] = [
    { ...fixed, messages: [{ role: 'user', content: 'What is TTFT?' }], sampling: { temperature: 0 } },
    {
      ...fixed,
      messages: [
        { role: 'system', content: 'Answer in one sentence.' },
        { role: 'user', content: 'Why is decoding memory-bound?' },
      ],
      sampling: { temperature: 1.2, topP: 0.9, topK: 40, seed: 7 },
      maxTokens: options.tokens - 3,
    },
    { ...fixed, prompt: 'The KV cache keeps', sampling: { temperature: 0 }, maxTokens: options.tokens - 1 },
  ];

  describe(`Engine contract: ${name}`, function () {
    this.timeout(options.timeoutMs);
    let engine: Engine;
    const solo: Answer[] = [];
    before(async () => {
      engine = await make();
      for (const request of requests) solo.push(await answer(engine, request));
    });
    after(() => engine[Symbol.asyncDispose]());

    const subject: Subject = {
      make,
      engine: () => engine,
      options,
      requests,
      solo: () => solo,
      expectUsable: async () => {
        expect((await answer(engine, requests[0]!)).text).to.equal(solo[0]!.text);
      },
    };
    describeAnswers(subject);
    describeAborts(subject);
    describeRefusals(subject);
  });
}
