import type { RequestTrace, StepTrace } from '../../shared/trace.ts';
import { requestBreakdown, type RequestBreakdown } from './request-breakdown.ts';
import { RingBuffer } from './ring-buffer.ts';
import { stepWindow, type StepWindow } from './step-window.ts';

/** A request as an engine tells of it when it has ended. */
export interface RecordedRequest {
  outcome: 'completed' | 'aborted' | 'failed';
  trace: RequestTrace;
}

/** The events of an engine that are recorded. */
export interface TraceEvents {
  step: StepTrace;
  request: RecordedRequest;
}

/** What events come from: `Engine.metrics`, or anything that looks like it. */
export interface TraceSource {
  on<Type extends keyof TraceEvents>(type: Type, listener: (event: TraceEvents[Type]) => void): () => void;
}

export interface RecordedStep {
  step: StepTrace;
  window: StepWindow;
  /** True if the page was hidden at any time since the step before it ended: browsers slow hidden pages down. */
  hidden: boolean;
}

export interface TraceLogOptions {
  /** Steps that are kept. @default 4096 */
  steps?: number;
  /** Requests that are kept. @default 256 */
  requests?: number;
  /** True if the page is hidden, or was since that time: `wasPageHidden`. @default never */
  isHidden?: (sinceMs: number) => boolean;
}

/**
 * The latest steps and requests of one engine, in bounded memory. Nothing is recorded until it is attached; a detached log costs the engine
 * the one branch of an event without listener.
 *
 * @example
 * ```ts
 * const log = new TraceLog({ isHidden: wasPageHidden });
 * const detach = log.attach(engine.metrics);
 * const decodeSteps = log.latestSteps('decode', 64);
 * ```
 */
export class TraceLog {
  readonly #steps: RingBuffer<RecordedStep>;
  readonly #requests: RingBuffer<RecordedRequest>;
  readonly #isHidden: (sinceMs: number) => boolean;
  readonly #listeners = new Set<() => void>();
  #wasHidden = false;
  /** Steps before were not recorded, so that nothing is known of the time since the newest one. */
  #hasMissed = false;

  constructor({ steps = 4096, requests = 256, isHidden = () => false }: TraceLogOptions = {}) {
    this.#steps = new RingBuffer(steps);
    this.#requests = new RingBuffer(requests);
    this.#isHidden = isHidden;
    isHidden(Infinity); // watching may begin with the first look
  }

  /** Records the events of `source` until the returned function is called; calling that twice is safe. */
  attach(source: TraceSource): () => void {
    this.#hasMissed = true;
    const offs = [
      source.on('step', (step) => this.addStep(step)),
      source.on('request', (request) => this.addRequest(request)),
    ];
    return () => {
      for (const off of offs.splice(0)) off();
    };
  }

  addStep(step: StepTrace): void {
    const window = stepWindow(step, this.#hasMissed ? undefined : this.#steps.newest?.window.toMs);
    this.#hasMissed = false;
    const hidden = this.#isHidden(window.fromMs - window.gapMs);
    this.#steps.push({ step, window, hidden: hidden || this.#wasHidden });
    this.#wasHidden = this.#isHidden(Infinity);
    this.#changed();
  }

  addRequest(request: RecordedRequest): void {
    this.#requests.push(request);
    this.#changed();
  }

  /** Calls `listener` after every recorded event until the returned function is called; it is to do no more than to ask for a redraw. */
  onChange(listener: () => void): () => void {
    const subscription = (): void => listener();
    this.#listeners.add(subscription);
    return () => this.#listeners.delete(subscription);
  }

  /** All steps that are kept, oldest first. */
  get steps(): readonly RecordedStep[] {
    return this.#steps.toArray();
  }

  /** All requests that are kept, oldest first. */
  get requests(): readonly RecordedRequest[] {
    return this.#requests.toArray();
  }

  get stepCount(): number {
    return this.#steps.length;
  }

  get latestStep(): RecordedStep | undefined {
    return this.#steps.newest;
  }

  get latestRequest(): RecordedRequest | undefined {
    return this.#requests.newest;
  }

  /** Events that were pushed out by newer ones. */
  get dropped(): { steps: number; requests: number } {
    return { steps: this.#steps.dropped, requests: this.#requests.dropped };
  }

  /** The latest steps of that kind, at most `count`, oldest first. */
  latestSteps(kind: StepTrace['kind'], count: number): RecordedStep[] {
    const found: RecordedStep[] = [];
    for (let at = this.#steps.length - 1; at >= 0 && found.length < count; at--) {
      const recorded = this.#steps.at(at)!;
      if (recorded.step.kind === kind) found.push(recorded);
    }
    return found.reverse();
  }

  /**
   * Steps that ended while the request ran, which are those it waited for: its own, and in a batch those it shared. Steps that ran ahead of
   * its end are not among them.
   */
  stepsOf({ marks }: Pick<RequestTrace, 'marks'>): RecordedStep[] {
    const { startedMs, lastTokenMs } = marks;
    if (startedMs === undefined || lastTokenMs === undefined) return [];
    const found: RecordedStep[] = [];
    for (let at = this.#steps.length - 1; at >= 0; at--) {
      const recorded = this.#steps.at(at)!;
      if (recorded.window.toMs <= startedMs) break;
      if (recorded.window.toMs <= lastTokenMs) found.push(recorded);
    }
    return found.reverse();
  }

  /** Where the time of a recorded request went; absent if it is not kept, or nothing came of it. */
  breakdownOf(requestId: string): RequestBreakdown | undefined {
    for (let at = this.#requests.length - 1; at >= 0; at--) {
      const { trace } = this.#requests.at(at)!;
      if (trace.requestId === requestId) return requestBreakdown(trace, this.stepsOf(trace));
    }
    return undefined;
  }

  clear(): void {
    this.#steps.clear();
    this.#requests.clear();
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        console.error('A listener of a trace log threw', error);
      }
    }
  }
}
