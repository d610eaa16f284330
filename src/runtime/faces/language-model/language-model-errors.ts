import { isTokenglassError } from '../../../shared/errors.ts';

const NAMES: Readonly<Record<string, string>> = {
  unsupported: 'NotSupportedError',
  disposed: 'InvalidStateError',
  'worker-dead': 'InvalidStateError',
  network: 'NetworkError',
  'invalid-request': 'DataError',
};

/** An error of an engine as the Prompt API tells it. */
export function toPromptError(error: unknown): unknown {
  if (!isTokenglassError(error)) return error;
  const { code, message, details } = error;
  if (code !== 'context-overflow') return new DOMException(message, NAMES[code] ?? 'OperationError');
  return quotaExceeded(message, details['promptTokens'], details['contextTokens']);
}

/** Newer browsers have a class for it, with both numbers. */
function quotaExceeded(message: string, requested: unknown, quota: unknown): DOMException {
  const error = new DOMException(message, 'QuotaExceededError');
  for (const [name, value] of Object.entries({ requested, quota })) {
    if (typeof value === 'number') Object.defineProperty(error, name, { value, enumerable: true });
  }
  return error;
}
