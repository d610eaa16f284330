import type { OutputToken } from '../../shared/generation.ts';
import type { Clock } from '../../shared/clock.ts';
import { RingBuffer } from './ring-buffer.ts';

/** One delta on its way from the engine to the page. */
export interface Delivery {
  requestId: string;
  /** Its last token's id was known to the engine (see `Clock`). */
  tokenMs: number;
  /** The page got it. */
  deliveredMs: number;
  /** Tokens in it. */
  tokens: number;
}

/** Deliveries that were late for the same reason: the page was busy. */
export interface PageStall {
  /** The first late token was known. */
  fromMs: number;
  /** The page took it. */
  toMs: number;
  /** The longest that a token waited, ms. */
  waitedMs: number;
  /** Tokens that waited. */
  tokens: number;
}

/** The latest deliveries, in bounded memory: stamped in the page, they show a stall of the page that ITL at the engine does not. */
export class DeliveryLog {
  readonly #deliveries: RingBuffer<Delivery>;
  readonly #clock: Clock;

  /** @param capacity deltas that are kept */
  constructor(clock: Clock, capacity = 2048) {
    this.#clock = clock;
    this.#deliveries = new RingBuffer(capacity);
  }

  /**
   * To be called where a `delta` event reaches the page. A flush without tokens is not a delivery.
   *
   * @param deliveredMs @default now
   */
  delta(
    requestId: string,
    tokens: readonly Pick<OutputToken, 'atMs'>[],
    deliveredMs: number = this.#clock.now(),
  ): void {
    const last = tokens.at(-1);
    if (!last) return;
    this.#deliveries.push({ requestId, tokenMs: last.atMs, deliveredMs, tokens: tokens.length });
  }

  /** Oldest first. */
  get deliveries(): readonly Delivery[] {
    return this.#deliveries.toArray();
  }

  clear(): void {
    this.#deliveries.clear();
  }
}

/** From a token's id being known to its text in the page, ms; never negative, as clocks of two realms differ by fractions. */
export const deliveryMs = ({ tokenMs, deliveredMs }: Delivery): number => Math.max(0, deliveredMs - tokenMs);

/**
 * Stalls of the page: deliveries that took at least `thresholdMs`, those joined that waited at the same time.
 * @param thresholdMs @default 50, a long task (W3C Long Tasks)
 */
export function pageStalls(deliveries: readonly Delivery[], thresholdMs = 50): PageStall[] {
  const stalls: PageStall[] = [];
  for (const delivery of deliveries) {
    const waitedMs = deliveryMs(delivery);
    if (waitedMs < thresholdMs) continue;
    const last = stalls.at(-1);
    if (last && delivery.tokenMs <= last.toMs) {
      last.toMs = Math.max(last.toMs, delivery.deliveredMs);
      last.waitedMs = Math.max(last.waitedMs, waitedMs);
      last.tokens += delivery.tokens;
    } else {
      stalls.push({ fromMs: delivery.tokenMs, toMs: delivery.deliveredMs, waitedMs, tokens: delivery.tokens });
    }
  }
  return stalls;
}
