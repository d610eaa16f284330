import type { ReactiveControllerHost } from 'lit';
import type { TokenglassError } from '../../shared/errors.ts';
import type { GenerateRequest } from '../../shared/generation.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import { GenerationController, type GenerationResult } from '../controllers/generation-controller.ts';
import {
  TgErrorEvent,
  TgFirstTokenEvent,
  TgPrefillEvent,
  TgRequestEndEvent,
  TgRequestStartEvent,
  TgTokensEvent,
} from '../events/request-events.ts';
import type { AnswerStatus, Conversation, Turn } from './conversation.ts';

/**
 * Makes the answer of one turn at a time: what arrives goes into the turn, and out of the host as events; when the answer ends, however it
 * does, the turn is settled.
 */
export class AnswerController {
  readonly #host: ReactiveControllerHost & EventTarget;
  readonly #conversation: Conversation;
  readonly #onSettled: (turn: Turn) => void;
  readonly #generation: GenerationController;
  #turn: Turn | undefined;

  /** @param onSettled - called before the host tells of the end */
  constructor(host: ReactiveControllerHost & EventTarget, conversation: Conversation, onSettled: (turn: Turn) => void) {
    this.#host = host;
    this.#conversation = conversation;
    this.#onSettled = onSettled;
    this.#generation = new GenerationController(host, {
      onCall: (call) => host.dispatchEvent(new TgRequestStartEvent(call)),
      onStart: (start) => host.dispatchEvent(new TgPrefillEvent(start)),
      onFirstText: (first) => host.dispatchEvent(new TgFirstTokenEvent(first)),
      onDelta: (delta) => {
        this.#turn?.answer.append(delta.text);
        this.#turn?.pieces?.append(delta.text, delta.tokens);
        host.dispatchEvent(new TgTokensEvent(delta));
      },
      onEnd: (end) => this.#handleEnd(end),
      onError: (failure) => this.#handleError(failure),
    });
  }

  /** True while an answer is made. */
  get busy(): boolean {
    return this.#generation.busy;
  }

  /** Where the answer of a turn is; of the one that is made, finer than the turn itself knows. */
  statusOf(turn: Turn): AnswerStatus {
    const { state } = this.#generation;
    return turn === this.#turn && state !== 'idle' && state !== 'done' ? state : turn.status;
  }

  /** @returns the result; undefined if it failed, or something new took its place */
  run(turn: Turn, engine: Engine, request: GenerateRequest): Promise<GenerationResult | undefined> {
    this.#begin(turn);
    return this.#generation.run(engine, request);
  }

  /** Goes on with an answer that was cut short, of `engine.resumable()`. Otherwise as {@link run}. */
  resume(turn: Turn, engine: Engine, id: string): Promise<GenerationResult | undefined> {
    this.#conversation.resume(turn);
    this.#begin(turn);
    return this.#generation.resume(engine, id);
  }

  /** Stops the answer that is made; it ends when the engine agrees. */
  stop(): void {
    this.#generation.stop();
  }

  /** Ends the answer that is made at once, without waiting for the engine to agree: something new takes its place. */
  interrupt(): void {
    const turn = this.#turn;
    if (!turn) return;
    const { runId } = this.#generation;
    this.#generation.reset();
    this.#settle('stopped');
    this.#host.dispatchEvent(new TgRequestEndEvent({ runId, outcome: 'aborted', text: turn.answer.text }));
  }

  #begin(turn: Turn): void {
    this.#turn = turn;
    turn.status = 'queued';
  }

  #handleEnd(end: { runId: number } & GenerationResult): void {
    const text = this.#turn?.answer.text ?? '';
    this.#settle(end.outcome === 'completed' ? 'done' : 'stopped', { ...(end.trace && { trace: end.trace }) });
    this.#host.dispatchEvent(new TgRequestEndEvent({ ...end, text }));
  }

  #handleError({ runId, error }: { runId: number; error: TokenglassError }): void {
    const turn = this.#turn;
    if (turn?.before !== undefined && error.code === 'invalid-request') {
      // The answer that was to go on is gone, or another tab has it: that is no fault, and what there was of it stays.
      turn.note = 'Another tab goes on with it';
      this.#settle('stopped');
      this.#host.dispatchEvent(new TgRequestEndEvent({ runId, outcome: 'aborted', text: turn.answer.text }));
      return;
    }
    this.#settle('error', { error });
    this.#host.dispatchEvent(new TgErrorEvent({ runId, error }));
  }

  #settle(status: 'done' | 'stopped' | 'error', outcome?: Pick<Turn, 'error' | 'trace'>): void {
    const turn = this.#turn;
    if (!turn) return;
    this.#turn = undefined;
    this.#conversation.settle(turn, status, outcome);
    this.#onSettled(turn);
  }
}
