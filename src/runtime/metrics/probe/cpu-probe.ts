import { systemClock, type Clock } from '../../../shared/clock.ts';
import { cpuKernels, FLOP_PER_ROUND } from './cpu-kernels.ts';
import { measurementOf, PROBE_SCHEMA, type DeviceProbe, type Measurement } from './device-probe.ts';
import { timerResolutionMs, tooCoarse } from './timer.ts';

export interface CpuProbeOptions {
  /** Threads that compute at once, as the engine's do. @default 1 */
  threads?: number;
  clock?: Clock;
  /**
   * Bytes that are read, all threads together.
   * @default 256 MiB, 128 MiB where the device has less than 8 GiB of memory or does not say, 64 MiB where it has less than 4
   */
  bufferBytes?: number;
  /** A repeat takes this long, ms. @default 60 */
  targetMs?: number;
  /** @default 5 */
  repeats?: number;
  /** Run in this thread, which stands still meanwhile, and not in workers. @default only where there are no workers */
  inline?: boolean;
}

/** What a thread did in its time. */
interface Share {
  work: number;
  ms: number;
}
type Job = { kind: 'read' | 'flop'; targetMs: number };
interface Thread {
  run(job: Job): Promise<Share>;
  end(): void;
}

const PAGE_BYTES = 65536;
const MIB = 2 ** 20;

/**
 * Measures the CPU as WebAssembly reaches it: memory bandwidth by SIMD loads over more than caches hold, and f32 arithmetic by SIMD multiply and
 * add, on all threads at once in workers, whose rates are added. (Where workers cannot be made, one thread is measured, and `threads` says 1.)
 */
export async function probeCpu(options: CpuProbeOptions = {}): Promise<DeviceProbe> {
  const { clock = systemClock, targetMs = 60, repeats = 5 } = options;
  const measuredAtMs = clock.now();
  const resolutionMs = timerResolutionMs(clock);
  const wanted = Math.max(1, Math.floor(options.threads ?? 1));
  const perThread = roundUp((options.bufferBytes ?? defaultBufferBytes()) / wanted);
  const module = cpuKernels(perThread / PAGE_BYTES);
  const threads = await startThreads(module, perThread, wanted, clock, options.inline === true);
  const absent: DeviceProbe['absent'] = {
    dispatchMs: 'A CPU has no dispatches',
    readbackMs: 'Results of a CPU are where they are needed',
    'flopPerSecond.f16': 'WebAssembly has no f16',
    'flopPerSecond.int8': 'Not measured on a CPU',
  };
  const rate = async (kind: Job['kind']): Promise<Measurement | string> => {
    const reason = tooCoarse(targetMs, resolutionMs);
    if (reason !== undefined) return reason;
    const rates: number[] = [];
    for (let i = 0; i <= repeats; i++) {
      const shares = await Promise.all(threads.map((thread) => thread.run({ kind, targetMs })));
      // The first is a warm-up: tiers of the compiler, clock rates.
      if (i > 0) rates.push(shares.reduce((sum, { work, ms }) => sum + (work / ms) * 1000, 0));
    }
    return measurementOf(rates);
  };
  try {
    const read = await rate('read');
    const flop = await rate('flop');
    if (typeof read === 'string') absent.readBytesPerSecond = read;
    if (typeof flop === 'string') absent['flopPerSecond.f32'] = flop;
    return {
      schema: PROBE_SCHEMA,
      device: 'cpu',
      threads: threads.length,
      measuredAtMs,
      tookMs: clock.now() - measuredAtMs,
      timerResolutionMs: resolutionMs,
      bufferBytes: perThread * threads.length,
      ...(typeof read !== 'string' && { readBytesPerSecond: read }),
      flopPerSecond: { ...(typeof flop !== 'string' && { f32: flop }) },
      absent,
    };
  } finally {
    for (const thread of threads) thread.end();
  }
}

/** More than the last cache holds, which is 96 MiB in some desktops and 36 in most, and little of what a phone has. */
function defaultBufferBytes(): number {
  const { deviceMemory = 4 } = (globalThis as { navigator?: { deviceMemory?: number } }).navigator ?? {};
  if (deviceMemory >= 8) return 256 * MIB;
  return deviceMemory >= 4 ? 128 * MIB : 64 * MIB;
}

const roundUp = (bytes: number): number => Math.max(1, Math.ceil(bytes / PAGE_BYTES)) * PAGE_BYTES;

async function startThreads(
  module: Uint8Array<ArrayBuffer>,
  bytes: number,
  count: number,
  clock: Clock,
  inline: boolean,
): Promise<Thread[]> {
  if (!inline && typeof Worker === 'function') {
    const workers: Thread[] = [];
    try {
      for (let i = 0; i < count; i++) workers.push(workerThread(module, bytes));
      // A policy that forbids such workers shows in the first job only.
      await Promise.all(workers.map((worker) => worker.run({ kind: 'flop', targetMs: 1 })));
      return workers;
    } catch {
      for (const worker of workers) worker.end();
    }
  }
  return [await inlineThread(module, bytes, clock)];
}

interface Kernels {
  memory: WebAssembly.Memory;
  read(from: number, to: number, rounds: number): number;
  flop(rounds: number, scale: number, step: number): number;
}

async function inlineThread(module: Uint8Array<ArrayBuffer>, bytes: number, clock: Clock): Promise<Thread> {
  const { instance } = await WebAssembly.instantiate(module);
  const kernels = instance.exports as unknown as Kernels;
  new Uint32Array(kernels.memory.buffer).fill(0x01020304);
  return {
    run: ({ kind, targetMs }) => {
      const startMs = clock.now();
      let work = 0;
      let ms = 0;
      do {
        if (kind === 'read') kernels.read(0, bytes, 1);
        else kernels.flop(FLOP_ROUNDS, 0.999, 0.001);
        work += kind === 'read' ? bytes : FLOP_ROUNDS * FLOP_PER_ROUND;
        ms = clock.now() - startMs;
      } while (ms < targetMs);
      return Promise.resolve({ work, ms });
    },
    end: () => undefined,
  };
}

/** Rounds between two looks at the clock: a fraction of a ms. */
const FLOP_ROUNDS = 20_000;

/** The loop of {@link inlineThread}, in a worker made from text: it must not need a file beside the bundle. */
const WORKER_SOURCE = `
let kernels, bytes;
onmessage = async ({ data }) => {
  if (data.module) {
    kernels = (await WebAssembly.instantiate(data.module)).instance.exports;
    bytes = data.bytes;
    new Uint32Array(kernels.memory.buffer).fill(0x01020304);
    return;
  }
  while (!kernels) await new Promise((resolve) => setTimeout(resolve));
  const { kind, targetMs } = data;
  const startMs = performance.now();
  let work = 0, ms = 0;
  do {
    if (kind === 'read') kernels.read(0, bytes, 1);
    else kernels.flop(${FLOP_ROUNDS}, 0.999, 0.001);
    work += kind === 'read' ? bytes : ${FLOP_ROUNDS * FLOP_PER_ROUND};
    ms = performance.now() - startMs;
  } while (ms < targetMs);
  postMessage({ work, ms });
};`;

function workerThread(module: Uint8Array<ArrayBuffer>, bytes: number): Thread {
  const url = URL.createObjectURL(new Blob([WORKER_SOURCE], { type: 'text/javascript' }));
  const worker = new Worker(url, { name: 'tokenglass cpu probe' });
  worker.postMessage({ module, bytes });
  return {
    run: (job) =>
      new Promise((resolve, reject) => {
        worker.onmessage = ({ data }: MessageEvent<Share>) => resolve(data);
        worker.onerror = (event) => {
          event.preventDefault();
          reject(new TypeError(`Cannot measure in a worker: ${event.message}`));
        };
        worker.postMessage(job);
      }),
    end: () => {
      worker.terminate();
      URL.revokeObjectURL(url);
    },
  };
}
