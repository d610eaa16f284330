/** An adapter that can only be looked at. `older` is the flag where browsers had it before. */
export function fakeAdapter(info: object, older?: boolean): GPUAdapter {
  const adapter = { info, features: new Set(['shader-f16']), limits: {} };
  return (older === undefined ? adapter : { ...adapter, isFallbackAdapter: older }) as unknown as GPUAdapter;
}

/** A `GPU` that offers this adapter. */
export const fakeGpu = (adapter: GPUAdapter | null): GPU =>
  ({ requestAdapter: () => Promise.resolve(adapter) }) as unknown as GPU;
