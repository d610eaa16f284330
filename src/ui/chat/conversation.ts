import type { ChatMessage } from '../../shared/generation.ts';
import type { TokenglassError } from '../../shared/errors.ts';
import type { RequestTrace } from '../../shared/trace.ts';
import { TextStream } from '../markdown/text-stream.ts';
import { TokenPieces } from '../token-view/token-pieces.ts';
import type { CutAnswer } from './cut-answers.ts';

/** `waiting` for an engine; `cut` short by a reload, a crash or a lost device; the rest as in `GenerationState`, with `stopped` apart from `done`. */
export type AnswerStatus = 'waiting' | 'queued' | 'prefill' | 'streaming' | 'done' | 'stopped' | 'cut' | 'error';

/** One question with its answer. */
export interface Turn {
  readonly id: number;
  readonly question: string;
  /** Replaced when the answer is made again. */
  answer: TextStream;
  /** The answer by token; of the latest turns only. */
  pieces?: TokenPieces;
  status: AnswerStatus;
  /** What the engine knows the answer by while its status is `cut`, and when it was cut. */
  cut?: { id: string; atMs: number };
  /** What there was of the answer, while it goes on. */
  before?: string;
  /** Said of a stopped answer in place of "Stopped". */
  note?: string;
  error?: TokenglassError;
  trace?: RequestTrace;
}

/** Turns whose tokens are kept: a long conversation must not keep every time of every token. */
const TURNS_WITH_TOKENS = 8;

/** The turns of a chat, oldest first. */
export class Conversation {
  readonly turns: Turn[] = [];
  #nextId = 1;
  #isRestored = false;

  /** True while it is nothing but what {@link restore} took up. */
  get isRestored(): boolean {
    return this.#isRestored;
  }

  get last(): Turn | undefined {
    return this.turns.at(-1);
  }

  add(question: string): Turn {
    const turn: Turn = {
      id: this.#nextId,
      question,
      answer: new TextStream(),
      pieces: new TokenPieces(),
      status: 'waiting',
    };
    this.#nextId += 1;
    this.#isRestored = false;
    this.turns.push(turn);
    delete this.turns.at(-1 - TURNS_WITH_TOKENS)?.pieces;
    return turn;
  }

  /** Empties the answer of a turn so that it can be made again. */
  reopen(turn: Turn): void {
    turn.answer.close();
    turn.answer = new TextStream();
    turn.pieces = new TokenPieces();
    turn.status = 'waiting';
    this.#isRestored = false;
    delete turn.error;
    delete turn.trace;
    delete turn.cut;
    delete turn.note;
  }

  /** Empties the answer of a turn so that it can go on: what there was of it comes again, before what is new. */
  resume(turn: Turn): void {
    const { text } = turn.answer;
    this.reopen(turn);
    turn.before = text;
  }

  /** Ends the answer of a turn. One that was to go on and did not get that far keeps what there was of it. */
  settle(turn: Turn, status: 'done' | 'stopped' | 'error', outcome: Pick<Turn, 'error' | 'trace'> = {}): void {
    if (turn.before !== undefined && turn.answer.text === '') turn.answer.append(turn.before);
    delete turn.before;
    turn.answer.close();
    turn.pieces?.close();
    turn.status = status;
    Object.assign(turn, outcome);
  }

  /** Takes up a conversation whose last answer was cut short, in place of what there is. */
  restore({ id, atMs, turns }: CutAnswer): void {
    this.clear();
    for (const { question, answer } of turns) {
      const turn = this.add(question);
      turn.answer = TextStream.of(answer);
      turn.status = 'done';
      delete turn.pieces;
    }
    const { last } = this;
    if (last) this.#markCut(last, { id, atMs });
    this.#isRestored = true;
  }

  /** The last turn, if its answer failed or was cut, and it is the one of these; it is then marked as cut. */
  recognise(answers: readonly CutAnswer[], systemPrompt: string, earlierTurns: number): Turn | undefined {
    const { last } = this;
    if (last?.status !== 'error' && last?.status !== 'cut') return undefined;
    const asked = this.messages(systemPrompt, earlierTurns).filter(({ role }) => role !== 'system');
    const found = answers.find(({ turns }) => {
      const contents = turns.flatMap(({ question, answer }) => [question, answer]);
      return contents.length === asked.length + 1 && asked.every(({ content }, index) => content === contents[index]);
    });
    if (found) this.#markCut(last, found);
    return found && last;
  }

  #markCut(turn: Turn, { id, atMs }: { id: string; atMs: number }): void {
    turn.status = 'cut';
    turn.cut = { id, atMs };
    delete turn.error;
  }

  /** The last answer, if it was cut short, does not go on. */
  endCut(): void {
    const { last } = this;
    if (last?.status !== 'cut') return;
    last.status = 'stopped';
    last.note = 'Cut short';
    delete last.cut;
  }

  clear(): void {
    this.#isRestored = false;
    for (const turn of this.turns.splice(0)) turn.answer.close();
  }

  /**
   * What the model is given to answer the last turn.
   *
   * @param earlierTurns - how many turns before it go along; those without an answer never do
   */
  messages(systemPrompt: string, earlierTurns: number): ChatMessage[] {
    const answered = this.turns.slice(0, -1).filter((turn) => turn.answer.text !== '');
    const kept = earlierTurns > 0 ? answered.slice(-earlierTurns) : [];
    const { last } = this;
    return [
      ...(systemPrompt === '' ? [] : [{ role: 'system', content: systemPrompt } as const]),
      ...kept.flatMap(({ question, answer }): ChatMessage[] => [
        { role: 'user', content: question },
        { role: 'assistant', content: answer.text },
      ]),
      ...(last ? [{ role: 'user', content: last.question } as const] : []),
    ];
  }
}
