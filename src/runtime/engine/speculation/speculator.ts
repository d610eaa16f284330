import { Acceptance } from './acceptance.ts';
import type { DraftModel, DraftModelRequest } from './draft-model.ts';
import { DraftPolicy } from './draft-policy.ts';
import { PlainPace } from './plain-pace.ts';
import { SequenceDrafts } from './sequence-drafts.ts';

/** A sequence that decodes, as far as drafting needs to know. */
export interface DraftingSequence {
  /** Absent: it does without (it keeps to a grammar, or its request said so). */
  readonly drafts: SequenceDrafts | undefined;
  /** Tokens that steps in flight are about to give it. */
  readonly samplesInFlight: number;
  /** Draft tokens that may follow those without going past the answer's longest length. */
  readonly draftsMost: number;
  /** What a draft model has to know. */
  readonly draftRequest: Omit<DraftModelRequest, 'key' | 'count'>;
}

export type DraftMethod = 'prompt-lookup' | 'draft-model';

/** What the scheduler is to give next. */
export type SpeculationPlan =
  /** Steps as ever, ahead of their results. */
  | { kind: 'run-ahead' }
  /** Nothing until every result is there: drafts have to go on from known tokens. */
  | { kind: 'wait' }
  /** One step, with these drafts; sequences without any decode beside them. */
  | { kind: 'verify'; method: DraftMethod; drafts: ReadonlyMap<DraftingSequence, readonly number[]> };

/** A step that is done, as far as its cost tells something. */
export interface MeasuredStep {
  /** `plain`: one token of each sequence; `other`: pieces of prompts, first steps after a change. */
  kind: 'plain' | DraftMethod | 'other';
  /** Tokens computed. */
  rows: number;
  sequences: number;
  startedAtMs: number;
  atMs: number;
}

export interface SpeculatorOptions {
  /** Of the backend: tokens that one step can sample. */
  maxVerifyTokens: number;
  /** Draft tokens of a sequence in a step, at most. @default 15 */
  maxDraftTokens?: number;
  /** Drafts where looking up gives nothing that pays. Owned from now on. */
  draftModel?: DraftModel;
}

const RUN_AHEAD: SpeculationPlan = { kind: 'run-ahead' };
const MAX_DRAFT_TOKENS = 15;
/** Of each token of a draft model, before any was verified and when it is tried again. */
const HOPED_CHANCE = 0.8;
/** There is no more or less evidence for what a model drafts. */
const MODEL_EVIDENCE = 5;

/**
 * Decides whether the next step verifies drafts, and which: those that promise more tokens per ms than plain decoding. The chances of drafts and the
 * costs of steps are learnt as they come.
 */
export class Speculator {
  readonly #options: SpeculatorOptions;
  readonly #plain = new PlainPace();
  readonly #policies: Readonly<Record<DraftMethod, DraftPolicy>> = {
    'prompt-lookup': new DraftPolicy(),
    'draft-model': new DraftPolicy(),
  };
  readonly #modelAcceptance = new Acceptance();
  #model: DraftModel | undefined;
  #last: MeasuredStep | undefined;

  constructor(options: SpeculatorOptions) {
    this.#options = options;
    this.#model = options.draftModel;
  }

  get method(): DraftMethod {
    return this.#model ? 'draft-model' : 'prompt-lookup';
  }

  /** For a sequence that begins. */
  createDrafts(): SequenceDrafts {
    return new SequenceDrafts();
  }

  /**
   * @param sequences all that decode, none of them still in its prompt
   * @param isIdle no step is in flight
   */
  async plan(sequences: readonly DraftingSequence[], isIdle: boolean): Promise<SpeculationPlan> {
    const plainMs = this.#plain.ms(sequences.length);
    if (plainMs === undefined || sequences.length === 0) return RUN_AHEAD;
    return (
      this.#planLookup(sequences, isIdle, plainMs) ?? (await this.#planModel(sequences, isIdle, plainMs)) ?? RUN_AHEAD
    );
  }

  #planLookup(sequences: readonly DraftingSequence[], isIdle: boolean, plainMs: number): SpeculationPlan | undefined {
    const promises = sequences.map((sequence) =>
      sequence.drafts?.promise(this.#mostOf(sequence), sequence.samplesInFlight),
    );
    if (promises.every((promise) => promise === undefined)) return undefined;
    const chances = promises.map((promise) => ({ chances: promise?.chances ?? [] }));
    const best = this.#policies['prompt-lookup'].choose(chances, this.#options.maxVerifyTokens, plainMs);
    if (!best) return undefined;
    if (!isIdle) return { kind: 'wait' };
    const drafts = new Map<DraftingSequence, readonly number[]>();
    for (const [index, sequence] of sequences.entries()) {
      const count = best.counts[index]!;
      if (count > 0) drafts.set(sequence, promises[index]!.tokens.slice(0, count));
    }
    return { kind: 'verify', method: 'prompt-lookup', drafts };
  }

  async #planModel(
    sequences: readonly DraftingSequence[],
    isIdle: boolean,
    plainMs: number,
  ): Promise<SpeculationPlan | undefined> {
    const model = this.#model;
    if (!model) return undefined;
    const mosts = sequences.map((sequence) => {
      if (!sequence.drafts) return 0;
      const room = model.contextTokens - sequence.draftRequest.tokens.length - sequence.samplesInFlight;
      return Math.max(0, Math.min(this.#mostOf(sequence), room));
    });
    const promises = mosts.map((most) => ({ chances: this.#modelAcceptance.chances(MODEL_EVIDENCE, most) }));
    const hopes = mosts.map((most) => ({ chances: Array.from({ length: most }, (_, i) => HOPED_CHANCE ** (i + 1)) }));
    const best = this.#policies['draft-model'].choose(promises, this.#options.maxVerifyTokens, plainMs, hopes);
    if (!best) return undefined;
    if (!isIdle) return { kind: 'wait' };
    const chosen = sequences.filter((_, index) => best.counts[index]! > 0);
    const requests = chosen.map((sequence) => {
      return { ...sequence.draftRequest, key: sequence, count: best.counts[sequences.indexOf(sequence)]! };
    });
    try {
      const drafted = await model.draft(requests);
      const drafts = new Map(chosen.map((sequence, index) => [sequence, drafted[index]!]));
      return { kind: 'verify', method: 'draft-model', drafts };
    } catch {
      // The answer does not need it. A lost device takes the target's own backend with it, which says so itself.
      this.#model = undefined;
      await model.dispose().catch(() => undefined);
      return undefined;
    }
  }

  #mostOf({ draftsMost }: DraftingSequence): number {
    return Math.max(0, Math.min(draftsMost, this.#options.maxDraftTokens ?? MAX_DRAFT_TOKENS));
  }

  /** Drafts of a sequence were verified, and so many of them were right. */
  verified(method: DraftMethod, drafted: number, accepted: number): void {
    // What is looked up learns by itself, of every token.
    if (method === 'prompt-lookup') return;
    for (let i = 0; i < accepted; i++) this.#modelAcceptance.learn(MODEL_EVIDENCE, true);
    if (accepted < drafted) this.#modelAcceptance.learn(MODEL_EVIDENCE, false);
  }

  /** A step's result is there. */
  stepDone(step: MeasuredStep): void {
    const last = this.#last;
    this.#last = step;
    const { kind, sequences, rows } = step;
    const ms = step.atMs - (last?.atMs ?? step.startedAtMs);
    // After another kind the first plain step has none ahead of it, and takes longer than those to come.
    if (kind === 'plain' && last?.kind === 'plain') this.#plain.step(sequences, ms);
    for (const method of ['prompt-lookup', 'draft-model'] as const) {
      if (kind === method) this.#policies[method].verified(rows, ms);
      else this.#policies[method].passed(sequences);
    }
  }

  /** There is nothing to do: the time until the next step is nobody's cost. */
  rest(): void {
    this.#last = undefined;
  }

  /** A sequence has ended. */
  close(sequence: DraftingSequence): void {
    this.#model?.close(sequence);
  }

  async dispose(): Promise<void> {
    await this.#model?.dispose();
  }
}
