import type { AdapterInfo } from '../../../src/index.ts';
import { gpuError, probeGpu } from '../../../src/runtime/backends/gpu/adapter-probe.ts';

/** The adapter that libraries will get, which do not tell theirs. @throws TokenglassError `no-webgpu`, `no-adapter`, `insecure-context` */
export async function requireGpu(): Promise<AdapterInfo> {
  const probe = await probeGpu();
  if (probe.status === 'adapter') return probe.info;
  throw gpuError(probe);
}
