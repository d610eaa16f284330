import { transferHandlers } from 'comlink';
import { isTokenglassError, TokenglassError, type ErrorCode } from '../shared/errors.ts';

/** An error as it crosses the worker edge: structured clone alone would drop `code` and `details`. */
export interface WireError {
  name: string;
  message: string;
  stack?: string;
  code?: ErrorCode;
  details?: Readonly<Record<string, unknown>>;
  cause?: WireError;
}

const MAX_CAUSES = 4;

const clonable = (details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  try {
    return structuredClone(details);
  } catch {
    return JSON.parse(
      JSON.stringify(details, (_, value: unknown) => (typeof value === 'function' ? undefined : value)),
    ) as Record<string, unknown>;
  }
};

export function toWireError(error: unknown, depth = 0): WireError {
  if (!(error instanceof Error) && !(error instanceof DOMException)) return { name: 'Error', message: String(error) };
  const wire: WireError = { name: error.name, message: error.message };
  if (error.stack !== undefined) wire.stack = error.stack;
  if (isTokenglassError(error)) {
    wire.code = error.code;
    wire.details = clonable(error.details);
  }
  if (error.cause !== undefined && depth < MAX_CAUSES) wire.cause = toWireError(error.cause, depth + 1);
  return wire;
}

const BUILT_IN: Readonly<Record<string, new (message: string) => Error>> = {
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
};

export function fromWireError(wire: WireError): Error {
  const error = revive(wire);
  if (wire.stack !== undefined) Object.defineProperty(error, 'stack', { value: wire.stack, configurable: true });
  return error;
}

function revive(wire: WireError): Error {
  const cause = wire.cause && fromWireError(wire.cause);
  if (wire.name === 'TokenglassError' && wire.code)
    return new TokenglassError(wire.code, wire.message, { ...(cause && { cause }), details: wire.details ?? {} });
  if (wire.name.endsWith('Error') && wire.name in BUILT_IN) return new BUILT_IN[wire.name]!(wire.message);
  if (wire.name === 'AbortError') return new DOMException(wire.message, 'AbortError');
  const error = new TokenglassError('internal', wire.message, { ...(cause && { cause }) });
  return Object.defineProperty(error, 'name', { value: wire.name, configurable: true });
}

interface ThrownValue {
  value: unknown;
}

/**
 * Comlink's own handler for thrown values carries only name, message and stack. Ours adds what a TokenglassError has and leaves
 * every other error, so also those of a page's own Comlink calls, to the handler that was there.
 */
export function installErrorTransfer(): void {
  const original = transferHandlers.get('throw');
  if (!original || 'tokenglass' in original) return;
  transferHandlers.set(
    'throw',
    Object.assign(
      {
        canHandle: (value: unknown): value is unknown => original.canHandle(value),
        serialize: (thrown: unknown): [unknown, Transferable[]] => {
          const { value } = thrown as ThrownValue;
          return isTokenglassError(value) ? [{ tokenglassError: toWireError(value) }, []] : original.serialize(thrown);
        },
        deserialize: (wire: unknown): unknown => {
          if (typeof wire === 'object' && wire !== null && 'tokenglassError' in wire)
            throw fromWireError(wire.tokenglassError as WireError);
          return original.deserialize(wire);
        },
      },
      { tokenglass: true },
    ),
  );
}
