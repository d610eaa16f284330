import { TokenglassError } from '../../../shared/errors.ts';

/** Bytes at the start of a file that {@link checkMagic} looks at. */
export const MAGIC_BYTES = 16;

/**
 * Checks that the first bytes are those of the kind of file that the name says. Hosts that answer an unknown path with a page, or a Git LFS
 * pointer in place of the file, are caught here.
 *
 * @param head the first {@link MAGIC_BYTES} bytes, or all there are
 * @throws TokenglassError `model-not-found` for a web page, `model-invalid` for anything else that it is not
 */
export function checkMagic(path: string, head: Uint8Array): void {
  const text = String.fromCharCode(...head.subarray(0, MAGIC_BYTES));
  const details = { path };
  // A byte order mark in UTF-8, read byte by byte.
  if (/^(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|\?xml|head|body)/i.test(text)) {
    const message = `Cannot load ${path}: the server answered with a web page, not a model file; check the URL`;
    throw new TokenglassError('model-not-found', message, { details });
  }
  if (text.startsWith('version https://')) {
    const message = `Cannot load ${path}: it is a Git LFS pointer, not the file itself; load it from a host that serves LFS files`;
    throw new TokenglassError('model-invalid', message, { details });
  }
  const name = path.replace(/[?#].*$/, '');
  if (/\.gguf$/i.test(name) && !text.startsWith('GGUF')) throw notOfKind(path, 'a GGUF file');
  if (/\.onnx$/i.test(name) && !isModelProto(head)) throw notOfKind(path, 'an ONNX model');
}

/** A protobuf message begins with a tag; ModelProto has fields 1 to 8, 14, 20, 25 and 26, all of them numbers or length-delimited. */
function isModelProto(head: Uint8Array): boolean {
  const [first = 0, second = 0] = head;
  const tag = first < 0x80 ? first : (first & 0x7f) | (second << 7);
  const field = tag >>> 3;
  const isKnown = (field >= 1 && field <= 8) || [14, 20, 25, 26].includes(field);
  return isKnown && [0, 2].includes(tag & 7);
}

function notOfKind(path: string, kind: string): TokenglassError {
  const message = `Cannot load ${path}: it is not ${kind}; check the URL, or take another export`;
  return new TokenglassError('model-invalid', message, { details: { path } });
}
