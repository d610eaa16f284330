/** Written by the library build: the text of the worker. */
declare const source: string;
export default source;
