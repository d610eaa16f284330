/** WebGPU calls, by kind. Bytes and times say what a device did; these say what the program asked of the API. */
export interface GpuCallCounts {
  dispatches: number;
  submits: number;
  computePasses: number;
  mapAsync: number;
  writeBuffer: number;
  copyBuffer: number;
  clearBuffer: number;
  createBuffer: number;
  createBindGroup: number;
  createPipeline: number;
  pushErrorScope: number;
}

/** Which methods count as what; classes are looked up by name, since a scope without WebGPU has none of them. */
const METHODS: readonly (readonly [kind: keyof GpuCallCounts, className: string, ...methods: string[]])[] = [
  ['dispatches', 'GPUComputePassEncoder', 'dispatchWorkgroups', 'dispatchWorkgroupsIndirect'],
  ['submits', 'GPUQueue', 'submit'],
  ['computePasses', 'GPUCommandEncoder', 'beginComputePass'],
  ['mapAsync', 'GPUBuffer', 'mapAsync'],
  ['writeBuffer', 'GPUQueue', 'writeBuffer'],
  ['copyBuffer', 'GPUCommandEncoder', 'copyBufferToBuffer'],
  ['clearBuffer', 'GPUCommandEncoder', 'clearBuffer'],
  ['createBuffer', 'GPUDevice', 'createBuffer'],
  ['createBindGroup', 'GPUDevice', 'createBindGroup'],
  ['createPipeline', 'GPUDevice', 'createComputePipeline', 'createComputePipelineAsync'],
  ['pushErrorScope', 'GPUDevice', 'pushErrorScope'],
];

export interface GpuCallCounter {
  /** Calls since the counter was installed. */
  read(): GpuCallCounts;
  /** Puts the API back as it was. */
  uninstall(): void;
}

type Method = (...args: unknown[]) => unknown;

const noCalls = (): GpuCallCounts => Object.fromEntries(METHODS.map(([kind]) => [kind, 0])) as unknown as GpuCallCounts;

/**
 * Counts the WebGPU calls of everything that runs in `scope` from now on, by wrapping the methods of the API's prototypes. To be
 * installed before an engine starts: one that keeps a method in a variable would go past it.
 * @param scope the realm's global object, or another object that holds the WebGPU classes (in Node, what the `webgpu` package exports)
 */
export function countGpuCalls(scope: object = globalThis): GpuCallCounter {
  const counts = noCalls();
  const undo: (() => void)[] = [];
  for (const [kind, className, ...methods] of METHODS) {
    const prototype = (scope as Record<string, { prototype: Record<string, Method> } | undefined>)[className]
      ?.prototype;
    for (const name of methods) {
      const original = prototype?.[name];
      if (!prototype || !original) continue;
      prototype[name] = function (this: unknown, ...args: unknown[]): unknown {
        counts[kind] += 1;
        return original.apply(this, args);
      };
      undo.push(() => (prototype[name] = original));
    }
  }
  return {
    read: () => ({ ...counts }),
    uninstall: () => {
      for (const restore of undo.splice(0)) restore();
    },
  };
}

/** Calls per token between two readings. */
export function callsPerToken(before: GpuCallCounts, after: GpuCallCounts, tokens: number): GpuCallCounts {
  const kinds = Object.keys(before) as (keyof GpuCallCounts)[];
  return Object.fromEntries(
    kinds.map((kind) => [kind, (after[kind] - before[kind]) / tokens]),
  ) as unknown as GpuCallCounts;
}
