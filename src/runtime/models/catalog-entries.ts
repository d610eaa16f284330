/** A model that can be loaded by its name. */
export interface CatalogEntry {
  name: string;
  /** Bytes to download. */
  downloadBytes: number;
  /** Bytes that it takes while it runs, with 2048 tokens of context. */
  neededBytes: number;
}

/** Models that need no URL. */
export const CATALOG: readonly CatalogEntry[] = [
  // Built in. INT4 weights; 3 KiB of KV a token in f16 (6 layers, 2 heads of 64, keys and values); scratch is the larger part of the rest.
  { name: 'tutor', downloadBytes: 3_500_000, neededBytes: 32_000_000 },
];
