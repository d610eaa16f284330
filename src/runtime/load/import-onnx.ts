/** The library build takes `import-onnx.dist.ts` in the place of this file. */
export const importOnnx = () => import('./onnx-part.ts');
