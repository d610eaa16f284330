import { TokenglassError } from '../../../shared/errors.ts';
import type { ByteReader } from './byte-reader.ts';
import { MAX_HEADER_BYTES } from './limits.ts';

/** Where the parts of the header reader stand. */
export interface HeaderCursor {
  readonly reader: ByteReader;
  /** Position of the reader where the header began. */
  readonly start: number;
  /** Array elements that may still come. */
  elementsLeft: number;
}

/** Makes `count` bytes available; `what` is what they hold, for the message when they are not there. */
export async function need({ reader, start }: HeaderCursor, count: number, what: string): Promise<void> {
  if (reader.position - start + count > MAX_HEADER_BYTES) {
    throw invalid(`its header would be longer than ${MAX_HEADER_BYTES} bytes with ${what}`);
  }
  if (reader.available >= count || (await reader.fill(count))) return;
  throw invalid(`it ends at byte ${reader.position + reader.available}, within ${what}; download it again`);
}

/** The file is broken. */
export function invalid(what: string, details: Readonly<Record<string, unknown>> = {}): TokenglassError {
  return new TokenglassError('model-invalid', `Cannot read the GGUF file: ${what}`, { details });
}

/** The file is well-formed, but not of a kind that we run. */
export function unsupported(what: string, details: Readonly<Record<string, unknown>> = {}): TokenglassError {
  return new TokenglassError('model-unsupported', `Cannot run the GGUF file: ${what}`, { details });
}
