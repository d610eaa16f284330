/**
 * Values of the specification, by name. TypeScript's DOM library has the types of WebGPU but not these globals, and a realm with an
 * injected `GPU` has none.
 */
export const BUFFER_USAGE = { mapRead: 0x1, copySrc: 0x4, copyDst: 0x8, storage: 0x80 } as const;

/** `GPUMapMode.READ` */
export const MAP_READ = 0x1;
