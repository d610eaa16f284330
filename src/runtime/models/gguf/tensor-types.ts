/** Element types of GGUF tensors that Tokenglass reads, as llama.cpp names them. */
export type GgmlType =
  | 'F32'
  | 'F16'
  | 'BF16'
  | 'Q4_0'
  | 'Q4_1'
  | 'Q5_0'
  | 'Q5_1'
  | 'Q8_0'
  | 'Q2_K'
  | 'Q3_K'
  | 'Q4_K'
  | 'Q5_K'
  | 'Q6_K';

export interface BlockLayout {
  /** Number of the type in the file. */
  id: number;
  /** Elements of a row that are stored together; a row's length is a multiple of it. */
  blockSize: number;
  /** Bytes of one block. */
  blockBytes: number;
}

/** Layout of each type: ids and block structs of ggml.h and ggml-common.h. */
export const BLOCK_LAYOUTS: Readonly<Record<GgmlType, BlockLayout>> = {
  F32: { id: 0, blockSize: 1, blockBytes: 4 },
  F16: { id: 1, blockSize: 1, blockBytes: 2 },
  BF16: { id: 30, blockSize: 1, blockBytes: 2 },
  Q4_0: { id: 2, blockSize: 32, blockBytes: 18 },
  Q4_1: { id: 3, blockSize: 32, blockBytes: 20 },
  Q5_0: { id: 6, blockSize: 32, blockBytes: 22 },
  Q5_1: { id: 7, blockSize: 32, blockBytes: 24 },
  Q8_0: { id: 8, blockSize: 32, blockBytes: 34 },
  Q2_K: { id: 10, blockSize: 256, blockBytes: 84 },
  Q3_K: { id: 11, blockSize: 256, blockBytes: 110 },
  Q4_K: { id: 12, blockSize: 256, blockBytes: 144 },
  Q5_K: { id: 13, blockSize: 256, blockBytes: 176 },
  Q6_K: { id: 14, blockSize: 256, blockBytes: 210 },
};

/** Types that exist in llama.cpp and that we do not read: named so that a message can say more than a number. */
const UNREAD_TYPES: Readonly<Record<number, string>> = {
  9: 'Q8_1',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  20: 'IQ4_NL',
  21: 'IQ3_S',
  22: 'IQ2_S',
  23: 'IQ4_XS',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  29: 'IQ1_M',
  34: 'TQ1_0',
  35: 'TQ2_0',
  39: 'MXFP4',
};

const TYPE_BY_ID: ReadonlyMap<number, GgmlType> = new Map(
  (Object.entries(BLOCK_LAYOUTS) as [GgmlType, BlockLayout][]).map(([type, layout]) => [layout.id, type]),
);

/** The type with this number, if it is one that we read. */
export function ggmlTypeById(id: number): GgmlType | undefined {
  return TYPE_BY_ID.get(id);
}

/** What to call the type with this number in a message. */
export function ggmlTypeLabel(id: number): string {
  return TYPE_BY_ID.get(id) ?? UNREAD_TYPES[id] ?? `number ${id}`;
}

/** Bytes of `elements` values of this type; `elements` is a multiple of the block size. */
export function ggmlByteLength(type: GgmlType, elements: number): number {
  const { blockSize, blockBytes } = BLOCK_LAYOUTS[type];
  if (elements % blockSize !== 0) throw new RangeError(`Cannot size ${elements} values of ${type}: not whole blocks`);
  return (elements / blockSize) * blockBytes;
}
