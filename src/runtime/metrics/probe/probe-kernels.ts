import chainCode from './chain.wgsl?raw';
import fillCode from './fill.wgsl?raw';
import { GpuBench, USAGE, type Rounds } from './gpu-bench.ts';
import readCode from './stream-read.wgsl?raw';

/** Dispatches that need each other's result, by two pipelines in turns: a decode step changes pipeline and bind group with every dispatch. */
export interface Chain {
  /** One u32: the dispatches so far. */
  counter: GPUBuffer;
  record: (pass: GPUComputePassEncoder, count: number) => void;
}

/** A kernel that reads a buffer as weights are read. */
export interface StreamRead {
  /** What is read. */
  data: GPUBuffer;
  /** What the threads make of it; a word of it can be read back. */
  sums: GPUBuffer;
  /** Bytes of a round. */
  bytes: number;
  rounds: Rounds;
  record: (pass: GPUComputePassEncoder) => void;
}

/** What a probe measures with, beside arithmetic. */
export interface ProbeKernels {
  chain: Chain;
  /** Absent if there is too little memory left to read from. */
  read?: StreamRead;
}

const THREADS = 256;
/** Bytes that a workgroup of `stream-read` reads in a round. */
const GROUP_BYTES = THREADS * 64 * 16;

/**
 * Compiles and fills what is needed to measure dispatches and bandwidth.
 *
 * @param readBytes at most; less where limits or memory do not allow for it
 * @throws TokenglassError `internal` if the device refuses a kernel; `model-too-large` without memory
 */
export async function createProbeKernels(bench: GpuBench, readBytes: number): Promise<ProbeKernels> {
  const chain = await createChain(bench);
  const read = await createStreamRead(bench, readBytes);
  return { chain, ...(read && { read }) };
}

async function createChain(bench: GpuBench): Promise<Chain> {
  const counter = await bench.buffer('counter', 4, USAGE.storage | USAGE.copySrc);
  const even = await bench.kernel('chain even', chainCode, [counter]);
  const odd = await bench.kernel('chain odd', chainCode, [counter]);
  return {
    counter,
    record: (pass, count) => {
      for (let i = 0; i < count; i++) GpuBench.record(pass, i % 2 === 0 ? even : odd, 1);
    },
  };
}

async function createStreamRead(bench: GpuBench, wantedBytes: number): Promise<StreamRead | undefined> {
  const { limits } = bench.device;
  const most = Math.min(wantedBytes, limits.maxBufferSize, limits.maxStorageBufferBindingSize);
  let groups = Math.min(Math.floor(most / GROUP_BYTES), limits.maxComputeWorkgroupsPerDimension);
  let data: GPUBuffer | undefined;
  // A model may have taken most of the memory.
  for (; groups >= 16; groups >>= 1) {
    data = await bench.tryBuffer('data', groups * GROUP_BYTES, USAGE.storage);
    if (data) break;
  }
  if (!data) return undefined;
  const sums = await bench.buffer('sums', groups * THREADS * 4, USAGE.storage | USAGE.copySrc);
  const fill = await bench.kernel('fill', fillCode, [data]);
  await bench.time((pass) => GpuBench.record(pass, fill, groups), sums);
  const rounds = bench.createRounds('stream read');
  const kernel = await bench.kernel('stream read', readCode, [rounds.buffer, data, sums]);
  return {
    data,
    sums,
    bytes: groups * GROUP_BYTES,
    rounds,
    record: (pass) => GpuBench.record(pass, kernel, groups),
  };
}
