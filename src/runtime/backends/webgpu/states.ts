import { KV_BLOCK } from '../../blocks/attention/webgpu/attention.ts';
import type { KvBlocks } from '../kv/kv-blocks.ts';
import type { StepWriter } from './step-layout.ts';

/** What a sequence's blocks that are no attention remember after its first `position` tokens, in a page. */
interface State {
  position: number;
  page: number;
}

/** The states of one sequence. */
export interface SequenceStates {
  /** By ascending position, none past the end of the sequence. */
  kept: State[];
  /** Two pages of its own: a step reads one and writes the other, so that what it began from stays until the next. */
  readonly work: readonly [number, number];
}

/** What a step of a sequence begins from and where it leaves its state. */
export interface StateStep {
  /** Tokens before the new ones that are run again, as no state is kept at the end of the sequence. */
  replay: number;
  source: number;
  target: number;
}

/** The page of an empty sequence: zeros, never written. */
export const EMPTY_STATE = 0;

/**
 * Where the states of sequences lie. Each step leaves one at its end; besides, states are kept at ends of KV blocks: there they belong to the
 * block, which another sequence can go on from. After a truncation a sequence goes on from the last state before, and runs the tokens since
 * then again together with its next ones: after rejected drafts these are the accepted ones, as the step that verified them left its own
 * beginning alone.
 */
export class States {
  readonly #pages: KvBlocks;
  readonly #writer: StepWriter;
  readonly #everyBlock: boolean;
  /** Sequences that may still be opened: each finds its two pages. */
  #unopened: number;

  /** @param everyBlock states are small: each end of a block keeps one. Else the last one of a step does */
  constructor(pages: KvBlocks, writer: StepWriter, { slots, everyBlock }: { slots: number; everyBlock: boolean }) {
    this.#unopened = slots;
    this.#pages = pages;
    this.#writer = writer;
    this.#everyBlock = everyBlock;
    pages.take(); // EMPTY_STATE
  }

  open(): SequenceStates {
    this.#unopened -= 1;
    return { kept: [], work: [this.#pages.take(), this.#pages.take()] };
  }

  close({ kept, work }: SequenceStates): void {
    this.#give(kept, work);
    this.#pages.give(work);
    this.#unopened += 1;
  }

  truncate(states: SequenceStates, length: number): void {
    const gone = states.kept.filter(({ position }) => position > length);
    states.kept = states.kept.filter(({ position }) => position <= length);
    this.#give(gone, states.work);
  }

  /** An empty sequence goes on from a page that others use too. */
  attach(states: SequenceStates, position: number, page: number): void {
    this.#pages.share([page]);
    states.kept = [{ position, page }];
  }

  /** The page of the state after so many tokens, if one is kept that can outlive the sequence. */
  at({ kept, work }: SequenceStates, position: number): number | undefined {
    return kept.find((state) => state.position === position && !work.includes(state.page))?.page;
  }

  /** How many tokens a step has to run again before new ones. */
  behind({ kept }: SequenceStates, length: number): number {
    return length - (kept.at(-1)?.position ?? 0);
  }

  /** Plans a step that runs `count` tokens again, then goes on to `end`. @param count of what {@link behind} tells, all but for catching up */
  begin(states: SequenceStates, slot: number, end: number, replay: number): StateStep {
    const { work } = states;
    const { position, page: source } = states.kept.at(-1) ?? { position: 0, page: EMPTY_STATE };
    const target = work[0] === source ? work[1] : work[0];
    states.kept = states.kept.filter(({ page }) => page !== target);
    const first = Math.floor(position / KV_BLOCK);
    const last = Math.floor(end / KV_BLOCK);
    for (let block = first; block < last; block++) {
      const isKept = this.#everyBlock || block === last - 1;
      const page = isKept ? (this.takeSpare() ?? this.#takeOwn(states, source, end)) : undefined;
      this.#writer.setMark(slot, block, page ?? EMPTY_STATE);
      if (page !== undefined) states.kept.push({ position: (block + 1) * KV_BLOCK, page });
    }
    states.kept.push({ position: end, page: target });
    return { replay, source, target };
  }

  /** A page that no sequence needs to go on, if there is one or what is kept for later gives one up. */
  takeSpare(): number | undefined {
    return this.#pages.makeRoom(1 + 2 * this.#unopened) ? this.#pages.take() : undefined;
  }

  /** Gives up the state of the sequence whose neighbours are closest, so that those it keeps are spread out; never the one that is read. */
  #takeOwn({ kept, work }: SequenceStates, source: number, end: number): number | undefined {
    const marks = kept.filter(({ page }) => page !== source && !work.includes(page));
    const gapOf = (index: number) => (marks[index + 1]?.position ?? end) - (marks[index - 1]?.position ?? 0);
    const [closest] = [...marks.keys()].sort((a, b) => gapOf(a) - gapOf(b));
    if (closest === undefined) return undefined;
    const { page } = marks[closest]!;
    // Others may hold it too: then nothing is gained.
    if (this.#pages.isShared(page)) return undefined;
    kept.splice(
      kept.findIndex((state) => state.page === page),
      1,
    );
    return page;
  }

  #give(states: readonly State[], work: readonly number[]): void {
    this.#pages.give(states.flatMap(({ page }) => (work.includes(page) ? [] : [page])));
  }
}
