// Names that `--engine` takes.
export const ENGINES = ['auto', 'webgpu', 'onnx-webgpu', 'onnx-wasm'];

/** @throws Error in a sentence for a name that is no engine */
export function checkEngine(name) {
  if (ENGINES.includes(name)) return name;
  throw new Error(`Cannot run "${name}": it is no engine here; take one of ${ENGINES.join(', ')}`);
}
