/** Written by the library build: the GGUF file of the built-in model, in base64. */
declare const base64: string;
export default base64;
