import type { DeviceSpec } from './devices.ts';
import { findPrecision, weightBytesOf, type PrecisionId } from './precision.ts';
import { roofline, type Roofline } from './roofline.ts';

/** A model as far as the roofline cares. */
export interface WhatIfModel {
  parameters: number;
  layers: number;
  hiddenSize: number;
  /** Bytes of KV per token, all layers. */
  kvBytesPerToken: number;
}

/** Where and how it runs. */
export interface WhatIfSetup {
  device: DeviceSpec;
  precision: PrecisionId;
  /** Cards that share the model (tensor parallel). @default 1 */
  cards?: number;
  /** Sequences in a step. @default 1 */
  batch?: number;
  /** Tokens that each sequence attends to. @default 0 */
  contextTokens?: number;
  /** Share of the roofline that real kernels reach, in (0, 1]. @default 1: the floor itself */
  efficiency?: number;
  /**
   * Latency of one all-reduce of a token's activations between the cards, us; there are two a layer (Megatron-LM, arXiv 1909.08053).
   * @default 10, an assumption for a few cards with a fast link
   */
  allReduceUs?: number;
}

/** The least that a step takes there, by the roofline; the API, the network and the scheduler come on top. */
export interface StepForecast {
  /** The larger of reading and computing, over the efficiency, and the talk between cards. Absent if a needed peak is not published. */
  stepMs?: number;
  /** Weights and KV over the bandwidth of all cards, ms. */
  memoryMs: number;
  /** Absent where the device's rate is not published. */
  computeMs?: number;
  /** All-reduces; 0 for one card. */
  communicationMs: number;
  boundBy?: 'memory' | 'compute';
  weightBytes: number;
  /** Bytes read in the step, all cards together. */
  bytes: number;
  flop: number;
  /** Weights and KV fit in the memory of the cards (nine tenths of it: buffers and the system need some). */
  fits: boolean;
  /** Batch / step time: for decode, all users together. */
  tokensPerSecond?: number;
}

/** One decode step: a token for each sequence. @throws RangeError for numbers that make no sense */
export function decodeOn(model: WhatIfModel, setup: WhatIfSetup): StepForecast {
  const { batch = 1, contextTokens = 0 } = setup;
  return stepOn(model, setup, batch, contextTokens);
}

/** Reading a prompt of `promptTokens` for each sequence in one go; its floor is the least TTFT. */
export function prefillOn(model: WhatIfModel, setup: WhatIfSetup, promptTokens: number): StepForecast {
  const { batch = 1, contextTokens = 0 } = setup;
  // On average half of the prompt has been seen by a token of it.
  return stepOn(model, setup, batch * promptTokens, contextTokens + promptTokens / 2, contextTokens + promptTokens);
}

function stepOn(
  model: WhatIfModel,
  setup: WhatIfSetup,
  tokens: number,
  attended: number,
  kvTokens = attended,
): StepForecast {
  const { device, precision, cards = 1, batch = 1, efficiency = 1, allReduceUs = 10 } = setup;
  checkAtLeast('parameters', model.parameters, 1);
  checkAtLeast('cards', cards, 1);
  checkAtLeast('batch', batch, 1);
  checkAtLeast('tokens', tokens, 1);
  if (!(efficiency > 0 && efficiency <= 1))
    throw new RangeError(`Cannot forecast a step: efficiency is ${efficiency}; give a number above 0 and up to 1`);
  const weightBytes = weightBytesOf(model.parameters, precision);
  const kvBytes = batch * kvTokens * model.kvBytesPerToken;
  const bytes = weightBytes + kvBytes;
  // Two FLOP a weight, and four a layer, hidden value and attended token: q k and p v.
  const flop = tokens * (2 * model.parameters + 4 * model.layers * model.hiddenSize * attended);
  const under = floorOn(device, precision, cards, bytes, flop);
  const messages = 2 * model.layers;
  const linkMs = device.linkGBps === undefined ? 0 : linkTimeMs(device.linkGBps, cards, tokens * model.hiddenSize * 2);
  const communicationMs = cards > 1 ? messages * (allReduceUs / 1000 + linkMs) : 0;
  const stepMs =
    under.floorMs === undefined || isBlind(under, tokens) ? undefined : under.floorMs / efficiency + communicationMs;
  return {
    ...(stepMs !== undefined && { stepMs, tokensPerSecond: (tokens * 1000) / stepMs }),
    memoryMs: under.memoryMs!,
    ...(under.computeMs !== undefined && { computeMs: under.computeMs }),
    communicationMs,
    ...(under.boundBy !== undefined && !isBlind(under, tokens) && { boundBy: under.boundBy }),
    weightBytes,
    bytes,
    flop,
    fits: weightBytes + kvBytes <= 0.9 * cards * device.memoryGB * 1e9,
  };
}

/**
 * Without a rate of arithmetic the floor is known only where memory decides for sure: a decode of a few sequences. At 4 bits a token asks for up to
 * 3.9 FLOP a byte, and all devices with a known rate have 26 or more to give.
 */
const isBlind = ({ computeMs }: Roofline, tokens: number): boolean => computeMs === undefined && tokens > SURELY_MEMORY;
const SURELY_MEMORY = 6;

function floorOn(device: DeviceSpec, precision: PrecisionId, cards: number, bytes: number, flop: number): Roofline {
  const { arithmetic } = findPrecision(precision);
  // A device without a rate for a narrower format computes in the next wider one.
  const tflops = device.tflops[arithmetic] ?? device.tflops.f16 ?? device.tflops.f32;
  return roofline(
    { bytes, flop },
    {
      bytesPerSecond: device.memoryGBps * 1e9 * cards,
      ...(tflops !== undefined && { flopPerSecond: tflops * 1e12 * cards }),
    },
  );
}

/** A ring all-reduce moves 2 (n - 1) / n of the data over each card's link, half of whose rate goes out. */
const linkTimeMs = (linkGBps: number, cards: number, bytes: number): number =>
  ((2 * (cards - 1)) / cards) * (bytes / ((linkGBps / 2) * 1e9)) * 1000;

function checkAtLeast(name: string, value: number, least: number): void {
  if (!(value >= least && value < Infinity))
    throw new RangeError(`Cannot forecast a step: ${name} is ${value}; give a number of at least ${least}`);
}

/** Models of the literature, for worked examples and for sliders of size. */
export const EXAMPLE_MODELS = {
  /** Llama 3 8B: 32 layers of 4096, 8 KV heads of 128, f16 KV (Grattafiori et al., "The Llama 3 herd of models", 2024, table 3). */
  llama3_8b: { parameters: 8.03e9, layers: 32, hiddenSize: 4096, kvBytesPerToken: 131072 },
  /** Llama 3 70B: 80 layers of 8192, 8 KV heads of 128, f16 KV. */
  llama3_70b: { parameters: 70.6e9, layers: 80, hiddenSize: 8192, kvBytesPerToken: 327680 },
} as const satisfies Record<string, WhatIfModel>;
