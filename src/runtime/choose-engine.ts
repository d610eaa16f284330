import { TokenglassError } from '../shared/errors.ts';
import type { EngineName } from '../shared/info.ts';
import { gpuError, type GpuProbe } from './backends/onnx/adapter-probe.ts';

/** Engines that run here. */
export type LocalEngineName = Extract<EngineName, 'onnx-webgpu' | 'onnx-wasm'>;

export interface EngineChoice {
  engine: LocalEngineName;
  /** One sentence for people: `EngineInfo.reason`. */
  reason: string;
}

/**
 * The rule behind `engine: 'auto'`: WebGPU on a real adapter; WASM where there is none or only a software one, on which WebGPU is many
 * times slower than WASM. An engine that is asked for by name is taken or refused, never replaced.
 *
 * @throws TokenglassError `no-webgpu`, `no-adapter`, `insecure-context` if WebGPU was asked for by name; `unsupported` for a name that is no
 *   engine here
 */
export function chooseEngine(requested: EngineName, probe: GpuProbe): EngineChoice {
  switch (requested) {
    case 'auto':
      return chooseAutomatically(probe);
    case 'onnx-wasm':
      return { engine: 'onnx-wasm', reason: 'Runs on the CPU (WASM), because this engine was asked for.' };
    case 'onnx-webgpu': {
      if (probe.status !== 'adapter') throw gpuError(probe);
      const software = probe.info.isFallback ? `; ${probe.info.description} is a software adapter, so it is slow` : '';
      return { engine: 'onnx-webgpu', reason: `Runs on WebGPU, because this engine was asked for${software}.` };
    }
    default: {
      const message = `Cannot take the engine "${requested}": it does not run here; take auto, onnx-webgpu or onnx-wasm`;
      throw new TokenglassError('unsupported', message, { details: { engine: requested } });
    }
  }
}

function chooseAutomatically(probe: GpuProbe): EngineChoice {
  if (probe.status !== 'adapter')
    return { engine: 'onnx-wasm', reason: `Runs on the CPU (WASM), because ${probe.reason}.` };
  const { description, isFallback } = probe.info;
  if (!isFallback) return { engine: 'onnx-webgpu', reason: `Runs on WebGPU, because there is a GPU: ${description}.` };
  const reason = `Runs on the CPU (WASM), because the only WebGPU adapter here, ${description}, is a software one, and slower.`;
  return { engine: 'onnx-wasm', reason };
}
