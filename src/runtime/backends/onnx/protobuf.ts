/** One field of a protobuf message: a number (varint; 64-bit ones as signed bigint) or bytes (string, message, packed). */
export interface ProtoField {
  field: number;
  /** Of a varint. */
  value?: bigint;
  /** Of a length-delimited or fixed-size field: a view, not a copy. */
  bytes?: Uint8Array;
}

/** Fields of a message in the order of the file. @throws RangeError where the bytes are no protobuf */
export function* protoFields(message: Uint8Array): Generator<ProtoField> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) throw new RangeError('Cannot read protobuf: a number is cut short');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new RangeError('Cannot read protobuf: a number is longer than 10 bytes');
  };
  const take = (length: number): Uint8Array => {
    if (length < 0 || at + length > message.length)
      throw new RangeError('Cannot read protobuf: a field ends after the message');
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const key = Number(varint());
    const field = Math.floor(key / 8);
    const type = key & 7;
    if (field < 1) throw new RangeError('Cannot read protobuf: field number 0');
    if (type === 0) yield { field, value: varint() };
    else if (type === 1) yield { field, bytes: take(8) };
    else if (type === 2) yield { field, bytes: take(Number(varint())) };
    else if (type === 5) yield { field, bytes: take(4) };
    else throw new RangeError(`Cannot read protobuf: wire type ${type}`);
  }
}

/** The numbers of a repeated int64 field, whether packed or not. */
export function* protoNumbers({ value, bytes }: ProtoField): Generator<number> {
  if (value !== undefined) yield Number(value);
  let number = 0n;
  let shift = 0n;
  for (const byte of bytes ?? []) {
    number |= BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte >= 0x80) continue;
    yield Number(BigInt.asIntN(64, number));
    number = shift = 0n;
  }
}
