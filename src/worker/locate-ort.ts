import type { PartUrls } from '../shared/parts.ts';

/** Builds of onnxruntime-web for WebGPU; a build of the sources finds them itself. The library build takes `locate-ort.dist.ts`. */
export const locateOrtParts = (): PartUrls => ({});
