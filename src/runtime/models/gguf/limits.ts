/**
 * Limits of a GGUF header. Counts and lengths come from a stranger's file; each bounds time or memory well above what any
 * real model needs, so that a hostile header is refused before it costs anything.
 */

/** All of the header. Real ones stay below 16 MiB (262,144 tokens of Gemma 3, or 128,256 tokens and 280,147 merges of Llama 3). */
export const MAX_HEADER_BYTES = 64 * 2 ** 20;
/** Metadata pairs. Real files have 20 to 60. */
export const MAX_METADATA_COUNT = 4096;
/** Tensors. The largest dense models have about 1,150, the largest with experts in separate tensors about 50,000. */
export const MAX_TENSOR_COUNT = 65_536;
/** Bytes of a key: the specification's own limit is 2^16 - 1. */
export const MAX_KEY_BYTES = 65_535;
/** Bytes of a string value. The longest real ones are chat templates, below 100 kB. */
export const MAX_STRING_BYTES = 4 * 2 ** 20;
/** Elements of all arrays together. Real headers stay below 1.5 million (tokens, scores, types and merges of the largest vocabularies). */
export const MAX_ARRAY_ELEMENTS = 4 * 2 ** 20;
/** Bytes of a tensor name: GGML_MAX_NAME of ggml.h, its terminating zero included. */
export const MAX_TENSOR_NAME_BYTES = 63;
/** Sizes of a tensor: GGML_MAX_DIMS of ggml.h. */
export const MAX_TENSOR_DIMS = 4;
/** `general.alignment`: the specification wants multiples of 8, real files use 32, and more than the most would only pad. */
export const MIN_ALIGNMENT = 8;
export const MAX_ALIGNMENT = 2 ** 20;
