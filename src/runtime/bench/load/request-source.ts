import { isTokenglassError } from '../../../shared/errors.ts';
import type { ChatMessage, GenerateRequest } from '../../../shared/generation.ts';
import type { Engine } from '../../request/engine.ts';
import { modelNumber } from '../../../shared/model-number.ts';
import { fitPrompt } from '../fit-prompt.ts';
import { RequestPlan, type PlannedRequest } from './request-plan.ts';
import type { Workload } from './workload.ts';

/** A request that is ready to be sent. */
export interface PreparedRequest {
  plan: PlannedRequest;
  request: GenerateRequest;
  /** Tokens of its prompt as the engine counts them. */
  promptTokens: number;
}

/** What was said in a conversation so far. */
export interface Spoken {
  messages: readonly ChatMessage[];
  /** Prompt and output tokens of the last turn. */
  tokens: number;
}

/** Makes the requests of a workload for one engine: exact lengths take a few token counts each, so they are made before they are due. */
export class RequestSource {
  readonly #engine: Engine;
  readonly #workload: Workload;
  readonly #plan: RequestPlan;
  readonly #prepared = new Map<number, Promise<PreparedRequest>>();
  #clamped = 0;

  constructor(engine: Engine, workload: Workload) {
    this.#engine = engine;
    this.#workload = workload;
    this.#plan = new RequestPlan(workload, this.#contextTokens);
  }

  /** No limit that is known, where a server does not tell its context. */
  get #contextTokens(): number {
    return modelNumber(this.#engine.info.model, 'contextTokens') ?? Infinity;
  }

  /** Requests whose length was drawn beyond the context, or below what the template takes, and was changed. */
  get clamped(): number {
    return this.#clamped;
  }

  /** Prepares the first turns of these conversations, unless that was done. */
  async prepare(
    from: number,
    to: number,
    onDone: (done: number, of: number) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    for (let conversation = from; conversation < to; conversation++) {
      signal?.throwIfAborted();
      await this.#first(conversation);
      onDone(conversation - from + 1, to - from);
    }
  }

  /** The first turn. What was prepared is given away, so that a long run does not keep all its prompts. */
  async first(conversation: number): Promise<PreparedRequest> {
    const prepared = this.#first(conversation);
    this.#prepared.delete(conversation);
    return prepared;
  }

  /** A later turn; nothing if it does not fit into the context any more. */
  async later(conversation: number, turn: number, spoken: Spoken): Promise<PreparedRequest | undefined> {
    const plan = this.#planned(conversation, turn);
    const contextTokens = this.#contextTokens;
    if (spoken.tokens + plan.promptTokens + plan.outputTokens > contextTokens) return undefined;
    const prepared = await this.#fit(plan, spoken.tokens + plan.promptTokens, spoken.messages);
    return prepared.promptTokens + plan.outputTokens > contextTokens ? undefined : prepared;
  }

  #first(conversation: number): Promise<PreparedRequest> {
    let prepared = this.#prepared.get(conversation);
    if (!prepared) {
      const plan = this.#planned(conversation, 0);
      prepared = this.#fit(plan, plan.promptTokens, []);
      this.#prepared.set(conversation, prepared);
    }
    return prepared;
  }

  #planned(conversation: number, turn: number): PlannedRequest {
    const { trace, warmUpRequests } = this.#workload;
    // Warm-up requests come first; the trace begins after them.
    const traced = trace && conversation >= warmUpRequests ? conversation - warmUpRequests : conversation;
    return this.#plan.at(conversation, turn, traced);
  }

  async #fit(plan: PlannedRequest, tokens: number, history: readonly ChatMessage[]): Promise<PreparedRequest> {
    const { promptText, raw, sharedPrefixShare, promptLength, temperature, seed, turns, trace } = this.#workload;
    const own = promptText === undefined ? undefined : ownInput(promptText, raw);
    const fitted = own
      ? { input: own, tokens: await countIfItCan(this.#engine, own) }
      : await fitPrompt(this.#engine, tokens, {
          raw,
          variant: plan.index,
          sharedShare: sharedPrefixShare,
          history,
          // A fixed length that cannot be had is a mistake; a drawn one is the tail of a distribution.
          orShortest: promptLength.kind !== 'fixed' || turns > 1 || trace !== undefined,
        });
    if (plan.clamped || (!own && fitted.tokens !== tokens)) this.#clamped += 1;
    const request: GenerateRequest = {
      ...fitted.input,
      maxTokens: plan.outputTokens,
      ignoreEos: promptText === undefined,
      sampling: { temperature, seed: (seed + plan.index) >>> 0, topP: 1, topK: 0, minP: 0, repetitionPenalty: 1 },
    };
    return { plan, request, promptTokens: fitted.tokens };
  }
}

/** A prompt that is given need not be counted before: 0 for a server that does not count for others. */
async function countIfItCan(engine: Engine, input: ReturnType<typeof ownInput>): Promise<number> {
  try {
    return await engine.countTokens(input);
  } catch (error) {
    if (isTokenglassError(error, 'unsupported')) return 0;
    throw error;
  }
}

const ownInput = (text: string, raw: boolean) =>
  raw ? { prompt: text } : { messages: [{ role: 'user' as const, content: text }] };

/** What was said once `answer` has come: the history of the next turn. */
export function spokenAfter({ request }: PreparedRequest, answer: { text: string; tokens: number }): Spoken {
  const before = request.messages ?? [{ role: 'user' as const, content: request.prompt ?? '' }];
  return { messages: [...before, { role: 'assistant', content: answer.text }], tokens: answer.tokens };
}
