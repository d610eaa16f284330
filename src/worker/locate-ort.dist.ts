import type { PartName, PartUrls } from '../shared/parts.ts';

const FILES: readonly (readonly [part: PartName, locate: () => URL])[] = [
  ['ort/jspi.js', () => new URL('./ort.jspi.js', import.meta.url)],
  ['ort/jspi.wasm', () => new URL('./ort.jspi.wasm.gz', import.meta.url)],
  ['ort/asyncify.js', () => new URL('./ort.asyncify.js', import.meta.url)],
  ['ort/asyncify.wasm', () => new URL('./ort.asyncify.wasm.gz', import.meta.url)],
];

/** URLs of the builds of onnxruntime-web for WebGPU, which a bundler carries along for the sake of these literals. */
export function locateOrtParts(): PartUrls {
  return Object.fromEntries(
    FILES.flatMap(([part, locate]) => {
      try {
        return [[part, new URL(locate(), pageUrl()).href]];
      } catch {
        return []; // a format without `import.meta`
      }
    }),
  );
}

const pageUrl = (): string | undefined => (typeof location === 'undefined' ? undefined : location.href);
