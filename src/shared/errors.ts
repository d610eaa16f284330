/**
 * What went wrong, as a literal that survives the worker edge. A new code is added only where a caller would act
 * differently; callers compare codes, never classes.
 */
export type ErrorCode =
  | 'no-webgpu' // navigator.gpu is missing
  | 'no-adapter' // requestAdapter() gave null
  | 'fallback-adapter' // only a software adapter, and a real one was asked for
  | 'insecure-context' // the page is not served over https or from localhost
  | 'missing-feature' // the adapter or browser lacks a feature the request needs
  | 'model-too-large' // weights, KV and scratch exceed what the device gives
  | 'model-not-found' // no such catalog entry, URL or file
  | 'model-invalid' // a model file is broken, truncated or not of a known format
  | 'model-unsupported' // a well-formed model whose architecture, quantisation or tokenizer we do not run
  | 'network' // a download failed and retries are used up
  | 'storage-full' // the quota does not hold what was to be written
  | 'context-overflow' // prompt (plus what was asked for) is longer than the context
  | 'invalid-request' // a parameter has a wrong type or value
  | 'unsupported' // the engine or backend does not do this
  | 'numeric-fault' // logits were NaN or flat
  | 'device-lost' // the GPU device was lost
  | 'worker-dead' // the worker ended or could not be started
  | 'watchdog' // a device call did not return in time
  | 'queue-full' // more requests wait than the engine keeps
  | 'timeout' // a request took longer than its `timeoutMs`
  | 'disposed' // the engine was disposed of
  | 'internal'; // a broken invariant of ours

export interface TokenglassErrorOptions {
  cause?: unknown;
  /** Plain data that a page can show or act on; must survive structured clone. */
  details?: Readonly<Record<string, unknown>>;
}

/**
 * The one error class of Tokenglass. The message reads "Cannot <action>: <what is>; <what to do>".
 *
 * @example
 * ```ts
 * try { await createEngine({ model: 'tutor' }); }
 * catch (error) { if (isTokenglassError(error, 'no-adapter')) show(error.message); else throw error; }
 * ```
 */
export class TokenglassError extends Error {
  override readonly name = 'TokenglassError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: TokenglassErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** True for a {@link TokenglassError} (of that code, if one is given), also for one that crossed a worker or realm. */
export function isTokenglassError(error: unknown, code?: ErrorCode): error is TokenglassError {
  if (typeof error !== 'object' || error === null) return false;
  const { name, code: actual } = error as { name?: unknown; code?: unknown };
  return name === 'TokenglassError' && (code === undefined || actual === code);
}

/** The reason of an aborted signal as an `AbortError`; what `generate` rejects with is never something else. */
export function abortError(signal?: AbortSignal): DOMException {
  const reason: unknown = signal?.reason;
  if (reason instanceof DOMException && reason.name === 'AbortError') return reason;
  return new DOMException('Cannot go on: the request was aborted', 'AbortError');
}
