import { probeGpu } from '../../runtime/backends/gpu/adapter-probe.ts';
import { ENGINES } from '../../shared/engines.ts';
import { isLocalEngineName } from '../../runtime/load/choose-engine.ts';
import type { SharePlace } from './protocol.ts';

/**
 * Where a shared engine runs best; to be called in the SharedWorker. There, if WebGPU is: no tab that closes then ends it. An engine on the
 * CPU goes into a tab where that gives it threads, which a SharedWorker cannot start.
 */
export async function choosePlace({
  engine,
  hasThreads,
}: {
  engine: string;
  hasThreads: boolean;
}): Promise<SharePlace> {
  const onCpu = hasThreads ? 'tab' : 'shared-worker';
  if (isLocalEngineName(engine) && ENGINES[engine].device === 'cpu') return onCpu;
  const probe = await probeGpu();
  if (probe.status !== 'adapter') return 'tab';
  return engine === 'auto' && probe.info.isFallback ? onCpu : 'shared-worker'; // of a software adapter, `auto` makes no use
}
