import { TokenglassError, abortError } from '../../../shared/errors.ts';
import type { GenerateRequest, OutputToken, TokenEvent } from '../../../shared/generation.ts';
import type { EngineInfo } from '../../../shared/info.ts';
import type { Engine, EngineMetrics } from '../../request/engine.ts';
import type { Timer } from '../load/timer.ts';

export interface SimulatedService {
  /** From the start of service to the first token, ms. */
  firstTokenMs: number | ((request: GenerateRequest) => number);
  /** Between tokens, ms. */
  tokenMs: number | ((request: GenerateRequest, token: number) => number);
  /** Thrown instead of an answer: to the request of that number (from 0), or to all. */
  failAt?: number | 'all';
}

const INFO: EngineInfo = {
  engine: 'simulated',
  version: '1',
  model: {
    id: 'simulated',
    architecture: 'none',
    quantization: 'Q4_0',
    layers: 1,
    hiddenSize: 1,
    heads: 1,
    kvHeads: 1,
    headDim: 1,
    vocabSize: 256,
    contextTokens: 4096,
    parameters: 1,
    weightBytes: 1000,
    kvBytesPerToken: 1,
    fingerprint: 'simulated',
  },
  threads: 1,
  reason: 'It is a test.',
  worker: false,
};

/** One server with a queue, whose service times are exactly what is asked for. A token per whitespace-separated word. */
export class SimulatedEngine implements Engine {
  readonly info: EngineInfo;
  readonly metrics: EngineMetrics;
  /** Requests so far, those in the queue included. */
  requests = 0;
  /** Listeners now. */
  listeners = 0;
  readonly #timer: Timer;
  readonly #service: SimulatedService;
  #freeAt: Promise<void> = Promise.resolve();

  constructor(timer: Timer, service: SimulatedService, info: Partial<EngineInfo> = {}) {
    this.#timer = timer;
    this.#service = service;
    this.info = { ...INFO, ...info };
    this.metrics = {
      on: () => {
        this.listeners += 1;
        return () => void (this.listeners -= 1);
      },
    };
  }

  countTokens(input: Parameters<Engine['countTokens']>[0]): Promise<number> {
    const text = 'prompt' in input ? input.prompt : input.messages.map(({ content }) => `<turn> ${content}`).join(' ');
    return Promise.resolve(text.split(/\s+/).filter(Boolean).length);
  }

  generate(request: GenerateRequest, signal?: AbortSignal): AsyncIterable<TokenEvent> {
    const index = this.requests++;
    const before = this.#freeAt;
    let free = (): void => undefined;
    this.#freeAt = new Promise((resolve) => (free = resolve));
    return this.#answer(request, index, before, free, signal);
  }

  async *#answer(
    request: GenerateRequest,
    index: number,
    before: Promise<void>,
    free: () => void,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<TokenEvent> {
    const { firstTokenMs, tokenMs, failAt } = this.#service;
    const timer = this.#timer;
    const calledMs = request.calledAtMs ?? timer.now();
    const promptTokens = await this.countTokens(
      request.messages ? { messages: request.messages } : { prompt: request.prompt ?? '' },
    );
    try {
      await before;
      if (signal?.aborted) throw abortError(signal);
      const startedMs = timer.now();
      if (failAt === 'all' || index === failAt)
        throw new TokenglassError('numeric-fault', 'Cannot decode: a fault; try again');
      yield { type: 'start', requestId: `simulated-${index}`, promptTokens, cachedTokens: 0 };
      const tokens: OutputToken[] = [];
      const prefillMs = typeof firstTokenMs === 'number' ? firstTokenMs : firstTokenMs(request);
      let atMs = startedMs + prefillMs;
      for (let token = 0; token < (request.maxTokens ?? 16); token++) {
        if (token > 0) atMs += typeof tokenMs === 'number' ? tokenMs : tokenMs(request, token);
        await timer.sleepUntil(atMs, signal);
        tokens.push({ id: token % 256, atMs });
        yield { type: 'delta', text: ` w${token}`, tokens: [tokens.at(-1)!] };
      }
      const usage = { promptTokens, cachedTokens: 0, completionTokens: tokens.length };
      const firstMs = startedMs + prefillMs;
      yield {
        type: 'end',
        finishReason: 'length',
        usage,
        trace: {
          requestId: `simulated-${index}`,
          marks: {
            calledMs,
            startedMs,
            tokenizedMs: startedMs,
            prefilledMs: firstMs,
            firstTokenMs: firstMs,
            firstDeltaMs: firstMs,
            firstDeliveredMs: firstMs,
            lastTokenMs: atMs,
            lastDeliveredMs: atMs,
          },
          usage,
          tokenTimesMs: tokens.map((token) => token.atMs),
          prefillMs,
          hidden: false,
        },
      };
    } finally {
      free();
    }
  }

  dispose(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
