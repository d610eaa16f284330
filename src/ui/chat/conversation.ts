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
    delete turn.error;
    delete turn.trace;
    delete turn.cut;
    delete turn.note;
  }

  /** Takes up a conversation whose last answer was cut short, in place of what there is; gives its last turn. */
  restore({ id, atMs, turns }: CutAnswer): Turn | undefined {
    this.clear();
    for (const { question, answer } of turns) {
      const turn = this.add(question);
      turn.answer = TextStream.of(answer);
      turn.status = 'done';
      delete turn.pieces;
    }
    const { last } = this;
    if (last) this.#markCut(last, { id, atMs });
    return last;
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

  clear(): void {
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
