import { isTokenglassError, TokenglassError } from '../../../shared/errors.ts';
import type { ChunkWriter } from './chunk-writer.ts';
import { createSha256 } from './digest.ts';
import { checkMagic, MAGIC_BYTES } from './file-magic.ts';
import type { ResumableFile } from './resumable-file.ts';

export interface VerifiedPiecesOptions {
  path: string;
  file: ResumableFile;
  /** The bytes before `file.start`. */
  stored: AsyncIterable<Uint8Array> | undefined;
  /** Absent: nothing is saved. */
  writer: ChunkWriter | undefined;
  /** Called as bytes are read from the disk or come from the network; of the last ones only once the whole was found right. */
  onPiece: (bytes: number, from: 'store' | 'network') => void;
  /** Called when all is stored and right, before the last piece is handed on. */
  onVerified: () => void;
}

/**
 * The last piece has at least so many bytes (or all there are): a reader of tensors does not read the padding after the last one, and must
 * not thereby keep the file from being complete.
 */
const LAST_PIECE_BYTES = 4096;

/**
 * Yields what is stored and then what is fetched, storing it on the way. The last piece is held back until the whole was found right and
 * is marked complete. A transfer that fails leaves what was stored for the next load; a file that is wrong leaves nothing.
 *
 * @throws TokenglassError `model-invalid`, `model-not-found`, `network`; `AbortError`
 */
export async function* verifiedPieces(options: VerifiedPiecesOptions): AsyncGenerator<Uint8Array, void> {
  const { path, file, stored, writer, onPiece, onVerified } = options;
  const digest = file.sha256 === undefined ? undefined : await createSha256();
  for await (const chunk of stored ?? []) {
    digest?.update(chunk);
    onPiece(chunk.length, 'store');
    yield chunk;
  }
  let held: Uint8Array | undefined;
  let lastBytes = 0;
  let afterHeld = (file.totalBytes ?? Infinity) - file.start;
  try {
    for await (const piece of file.start > 0 ? file.pieces : withCheckedHead(path, file.pieces)) {
      // Counted as it comes, not when it is handed on: a transfer that stalls after its first piece has come that far.
      if (piece.length < afterHeld) onPiece(piece.length, 'network');
      else lastBytes += piece.length;
      const isTail: boolean = afterHeld < LAST_PIECE_BYTES;
      if (held && !isTail) yield held;
      digest?.update(piece);
      await writer?.write(piece);
      held = held && isTail ? concat(held, piece) : piece;
      afterHeld -= piece.length;
    }
    const sha256 = digest?.finish();
    if (sha256 !== file.sha256) throw wrongDigest(path, file.sha256!, sha256!);
  } catch (error) {
    if (isTokenglassError(error) && error.code !== 'network') await writer?.discard();
    throw error;
  }
  await writer?.finish();
  onVerified();
  if (lastBytes > 0) onPiece(lastBytes, 'network');
  if (held) yield held;
}

/** Passes the first bytes on only once there are enough of them to say what kind of file it is. */
async function* withCheckedHead(path: string, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let head: Uint8Array | undefined = new Uint8Array(0);
  for await (const piece of pieces) {
    if (!head) {
      yield piece;
      continue;
    }
    const joined: Uint8Array = head.length === 0 ? piece : concat(head, piece);
    head = joined;
    if (joined.length < MAGIC_BYTES) continue;
    checkMagic(path, joined);
    yield joined;
    head = undefined;
  }
  if (!head) return;
  checkMagic(path, head);
  if (head.length > 0) yield head;
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}

function wrongDigest(path: string, expected: string, actual: string): TokenglassError {
  const message = `Cannot load ${path}: its SHA-256 is not the one that the host gives; load it again`;
  return new TokenglassError('model-invalid', message, { details: { path, expected, actual } });
}
