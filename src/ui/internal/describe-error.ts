import type { ErrorCode, TokenglassError } from '../../shared/errors.ts';

/** What a page says about an error: what happened in a few words, and what the reader can do. */
export interface ErrorWords {
  title: string;
  advice: string;
  /** Asking or loading once more may help. */
  retry: boolean;
}

const words = (title: string, advice: string, retry = false): ErrorWords => ({ title, advice, retry });

const WORDS: Readonly<Record<ErrorCode, ErrorWords>> = {
  'no-webgpu': words(
    'This browser has no WebGPU',
    'Choose the CPU engine, or use a current Chrome, Edge, Safari or Firefox.',
  ),
  'no-adapter': words(
    'No graphics adapter was given',
    'Choose the CPU engine, or check that hardware acceleration is on.',
  ),
  'fallback-adapter': words(
    'Only a software adapter is here',
    'Choose the CPU engine, which is faster than a software GPU.',
  ),
  'insecure-context': words(
    'This page is not secure',
    'Open it over https or from localhost; WebGPU and storage need that.',
  ),
  'missing-feature': words('This device lacks something the model needs', 'Choose another engine.'),
  'model-too-large': words('The model does not fit this device', 'Choose a smaller model or a lower precision.'),
  'model-not-found': words('There is no such model', 'Check its name or address.'),
  'model-invalid': words('The model file is broken', 'Load it again, or get it anew from where it came from.', true),
  'model-unsupported': words('This kind of model is not supported', 'Choose another model.'),
  network: words(
    'The download did not finish',
    'Check the connection and try again; it goes on where it stopped.',
    true,
  ),
  'storage-full': words('The disk is full', 'Free some space; until then the model runs but is not kept.', true),
  'context-overflow': words(
    'The conversation is longer than the model can hold',
    'Start a new conversation, or ask something shorter.',
  ),
  'invalid-request': words('The request was not understood', 'Change the settings named below.'),
  unsupported: words('This engine cannot do that', 'Choose another engine.'),
  'numeric-fault': words(
    'The model computed something that is no number',
    'Try again; if it stays so, choose another engine.',
    true,
  ),
  'device-lost': words('The graphics device was lost', 'Load the model again.', true),
  'worker-dead': words('The worker ended', 'Load the model again.', true),
  watchdog: words('The device did not answer in time', 'Try again, or choose another engine.', true),
  timeout: words('The answer took too long', 'Try again, or ask for a shorter answer.', true),
  'queue-full': words('Too many requests wait', 'Try again in a moment.', true),
  disposed: words('The engine was closed', 'Load the model again.', true),
  internal: words('Something went wrong', 'Try again.', true),
};

/** After these, asking the same engine again is no use. */
const ENGINE_IS_GONE: readonly ErrorCode[] = ['device-lost', 'worker-dead', 'watchdog', 'disposed'];

/** True if a new engine is needed before anything can be asked again. */
export const needsNewEngine = (error: TokenglassError): boolean => ENGINE_IS_GONE.includes(error.code);

export function describeError(error: TokenglassError): ErrorWords {
  return WORDS[error.code];
}
