import type { GenerateRequest } from '../../../../shared/generation.ts';
import type { StepTrace } from '../../../../shared/trace.ts';
import type { Engine } from '../../../request/engine.ts';
import { itl } from '../../../metrics/itl.ts';
import { ttft } from '../../../metrics/ttft.ts';

const QUESTIONS = [
  'What is TTFT?',
  'Why is decoding memory-bound?',
  'What does prefill do?',
  'Explain the KV cache.',
  'What is a token?',
  'Why do weights come in four bits?',
  'What is a roofline?',
  'How does batching help?',
] as const;

/** A request of its own prompt that gives exactly so many tokens. */
export function questionOf(user: number, maxTokens: number): GenerateRequest {
  const content = QUESTIONS[user % QUESTIONS.length]!;
  return { messages: [{ role: 'user', content }], maxTokens, ignoreEos: true, sampling: { temperature: 0 } };
}

/** What several users got who asked at the same time. */
export interface Together {
  itlMs: number[];
  ttftMs: number[];
  /** Output tokens of all. */
  tokens: number;
  /** From the first call to the last token. */
  ms: number;
  steps: StepTrace[];
}

export async function runTogether(engine: Engine, users: number, outputTokens: number): Promise<Together> {
  const together: Together = { itlMs: [], ttftMs: [], tokens: 0, ms: 0, steps: [] };
  const stop = engine.metrics.on('step', (step) => together.steps.push(step));
  const fromMs = performance.now();
  const ask = async (user: number): Promise<void> => {
    for await (const event of engine.generate(questionOf(user, outputTokens))) {
      if (event.type !== 'end') continue;
      together.itlMs.push(...itl(event.trace));
      together.ttftMs.push(ttft(event.trace) ?? 0);
      together.tokens += event.usage.completionTokens;
    }
  };
  await Promise.all(Array.from({ length: users }, (_, user) => ask(user)));
  together.ms = performance.now() - fromMs;
  stop();
  return together;
}
