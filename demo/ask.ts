import type { Engine, EngineInfo, SamplingParams } from '../src/index.ts';
import { itl, summarize, tpot, ttft, type Summary } from '../src/runtime/metrics/index.ts';

export interface AskOptions {
  /** Called with each piece of the answer. */
  onText?: (text: string) => void;
  maxTokens?: number;
  sampling?: SamplingParams;
}

/** What the terminal prints below the answer. */
export interface Answer {
  text: string;
  info: EngineInfo;
  figures: {
    promptTokens: number;
    cachedTokens: number;
    outputTokens: number;
    ttftMs?: number;
    itlMs: Summary;
    tpotMs?: number;
    /** 1000 / TPOT: one user's. */
    tokensPerSecond?: number;
  };
}

/** One question to the engine, with the figures of its answer. */
export async function ask(engine: Engine, question: string, options: AskOptions = {}): Promise<Answer> {
  let text = '';
  const request = {
    messages: [{ role: 'user' as const, content: question }],
    ...(options.maxTokens !== undefined && { maxTokens: options.maxTokens }),
    ...(options.sampling && { sampling: options.sampling }),
  };
  for await (const event of engine.generate(request)) {
    if (event.type === 'delta') {
      text += event.text;
      if (event.text) options.onText?.(event.text);
    } else if (event.type === 'end') {
      const { trace, usage } = event;
      const [ttftMs, tpotMs] = [ttft(trace), tpot(trace)];
      return {
        text,
        info: engine.info,
        figures: {
          promptTokens: usage.promptTokens,
          cachedTokens: usage.cachedTokens,
          outputTokens: usage.completionTokens,
          itlMs: summarize(itl(trace)),
          ...(ttftMs !== undefined && { ttftMs }),
          ...(tpotMs !== undefined && { tpotMs, tokensPerSecond: 1000 / tpotMs }),
        },
      };
    }
  }
  throw new TypeError('Cannot print the answer: the engine gave no end');
}
