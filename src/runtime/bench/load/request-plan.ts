import { createRandom } from '../stats/random.ts';
import { drawTokens } from './lengths.ts';
import type { Workload } from './workload.ts';

/** One request as it is asked for, before there is a prompt. */
export interface PlannedRequest {
  /** Position among all requests of the plan; also the seed's offset. */
  index: number;
  conversation: number;
  /** From 0. */
  turn: number;
  /** Tokens of the prompt; for later turns, tokens that the turn adds to what was said. */
  promptTokens: number;
  outputTokens: number;
  /** The draw did not fit into the context, and was shortened. */
  clamped: boolean;
}

/**
 * The lengths of a workload, drawn in order from its seed: the same whatever the engine, and however requests overlap.
 */
export class RequestPlan {
  readonly #workload: Workload;
  readonly #contextTokens: number;
  readonly #lengths: { prompt: number; output: number }[] = [];
  readonly #prompts;
  readonly #outputs;

  constructor(workload: Workload, contextTokens: number) {
    this.#workload = workload;
    this.#contextTokens = contextTokens;
    this.#prompts = createRandom(workload.seed, 'prompt lengths');
    this.#outputs = createRandom(workload.seed, 'output lengths');
  }

  /**
   * @param traced number of the request in the trace, for a replay; warm-up requests have none and take lengths from its beginning
   */
  at(conversation: number, turn: number, traced = conversation): PlannedRequest {
    const { trace, turns } = this.#workload;
    const index = conversation * turns + turn;
    const drawn = trace
      ? { prompt: trace[traced % trace.length]!.promptTokens, output: trace[traced % trace.length]!.outputTokens }
      : this.#drawn(index);
    const outputTokens = Math.min(drawn.output, Math.ceil(this.#contextTokens / 2));
    const promptTokens = Math.min(drawn.prompt, this.#contextTokens - outputTokens);
    const clamped = outputTokens < drawn.output || promptTokens < drawn.prompt;
    return { index, conversation, turn, promptTokens, outputTokens, clamped };
  }

  #drawn(index: number): { prompt: number; output: number } {
    while (this.#lengths.length <= index)
      this.#lengths.push({
        prompt: drawTokens(this.#workload.promptLength, this.#prompts),
        output: drawTokens(this.#workload.outputLength, this.#outputs),
      });
    return this.#lengths[index]!;
  }
}
