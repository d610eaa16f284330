import type { Backend, SequenceId, SequenceOptions, StepResult, StepRow } from '../../backends/backend.ts';

/** A sequence of the target model, as the draft model follows it. */
export interface DraftModelRequest {
  /** Names the sequence; its KV in the draft model is kept under it until {@link DraftModel.close}. */
  key: object;
  /** How the target samples: with the same parameters and the same noise the draft model agrees most often. */
  options: SequenceOptions;
  /** All tokens so far. */
  tokens: readonly number[];
  /** How many of them are the prompt. */
  promptTokens: number;
  /** Tokens to draft, at least 1. */
  count: number;
}

/** What the draft model's backend has of a sequence. */
interface Followed {
  id: SequenceId;
  /** Tokens with KV. */
  tokens: number[];
}

/** A request on its way: what is still to be fed, and what was drafted. */
interface Drafting {
  request: DraftModelRequest;
  followed: Followed;
  /** Samples asked for. */
  asked: number;
  drafted: number[];
}

/**
 * A smaller model of the same vocabulary that runs ahead of the target model, a batch of sequences in step. It only ever has to be caught
 * up with what the target accepted: drafts that were wrong are truncated.
 */
export class DraftModel {
  readonly #backend: Backend;
  readonly #followed = new Map<object, Followed>();

  /** @param backend owned from now on */
  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** Tokens that a sequence can have here; longer ones are not drafted for. */
  get contextTokens(): number {
    return this.#backend.info.model.contextTokens;
  }

  /** Drafts for all requests. Rejects when the draft model's backend does. */
  async draft(requests: readonly DraftModelRequest[]): Promise<number[][]> {
    const all = requests.map((request): Drafting => {
      return { request, followed: this.#catchUp(request), asked: 0, drafted: [] };
    });
    const { runAhead } = this.#backend.info.capabilities;
    const inFlight: { rows: readonly StepRow[]; of: readonly Drafting[]; result: Promise<StepResult> }[] = [];
    const settle = async (): Promise<void> => {
      const { of, rows, result } = inFlight.shift()!;
      const { rows: results } = await result;
      for (const [index, drafting] of of.entries()) {
        if (rows[index]!.sample !== false) drafting.drafted.push(results[index]!.token!);
      }
    };
    try {
      for (;;) {
        const step = this.#nextStep(all);
        if (step.rows.length === 0) break;
        while (inFlight.length >= runAhead) await settle();
        const result = this.#backend.step(step.rows);
        result.catch(() => undefined); // told to whoever settles it
        inFlight.push({ ...step, result });
      }
      while (inFlight.length > 0) await settle();
    } finally {
      await Promise.allSettled(inFlight.map(({ result }) => result));
    }
    // The last draft was sampled and not appended.
    for (const { followed, drafted } of all) followed.tokens.push(...drafted.slice(0, -1));
    return all.map(({ drafted }) => drafted);
  }

  /** Forgets a sequence; never throws. Unknown ones are ignored. */
  close(key: object): void {
    const followed = this.#followed.get(key);
    this.#followed.delete(key);
    if (!followed) return;
    try {
      this.#backend.closeSequence(followed.id);
    } catch {
      // What is broken fails at the next draft, which gives the model up. The target's sequence has nothing to do with it.
    }
  }

  dispose(): Promise<void> {
    this.#followed.clear();
    return this.#backend.dispose();
  }

  /** Drops what the target did not accept. */
  #catchUp({ key, options, tokens }: DraftModelRequest): Followed {
    let followed = this.#followed.get(key);
    if (!followed) {
      followed = { id: this.#backend.openSequence({ sampling: options.sampling, logprobs: 0 }), tokens: [] };
      this.#followed.set(key, followed);
    }
    const known = followed.tokens;
    let same = 0;
    // The last token is fed in any case, since its logits are wanted.
    const most = Math.min(known.length, tokens.length - 1);
    while (same < most && known[same] === tokens[same]) same += 1;
    if (same < known.length) {
      this.#backend.truncate(followed.id, same);
      known.length = same;
    }
    return followed;
  }

  /** A row for each sequence that has something left to do, within what a step takes. */
  #nextStep(all: readonly Drafting[]): { rows: StepRow[]; of: Drafting[] } {
    const { maxBatch, maxStepTokens } = this.#backend.info.capabilities;
    const rows: StepRow[] = [];
    const of: Drafting[] = [];
    let budget = maxStepTokens;
    for (const drafting of all) {
      if (rows.length >= maxBatch || budget < 1) break;
      const row = nextRow(drafting, budget);
      if (!row) continue;
      rows.push(row);
      of.push(drafting);
      budget -= row.input === 'previous' ? 1 : row.input.length;
    }
    return { rows, of };
  }
}

function nextRow(drafting: Drafting, budget: number): StepRow | undefined {
  const { request, followed } = drafting;
  const { tokens, promptTokens, count } = request;
  const { id: sequence } = followed;
  const fed = followed.tokens.length;
  if (fed < tokens.length) {
    const isPrompt = fed < promptTokens;
    const end = Math.min(isPrompt ? promptTokens : tokens.length, fed + budget);
    const input = tokens.slice(fed, end);
    followed.tokens.push(...input);
    const sample = end === tokens.length;
    if (sample) drafting.asked += 1;
    return { sequence, input, sample, isPrompt };
  }
  if (drafting.asked >= count) return undefined;
  drafting.asked += 1;
  return { sequence, input: 'previous', sample: true, isPrompt: false };
}
