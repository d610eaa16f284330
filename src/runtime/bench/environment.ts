/** Where a report was made; what a reader needs to tell whether two reports may be compared. */
export interface Environment {
  /** Name and full version of the browser (or `node`). */
  browser: string;
  os: string;
  /** Logical processors that the browser admits to. */
  cpuThreads: number;
  /** Approximate device memory in GiB as the browser rounds it; absent where it does not say. */
  memoryGiB?: number;
  /** SharedArrayBuffer, and so WASM threads, are available. */
  crossOriginIsolated: boolean;
  /** Smallest step of `performance.now()` seen, ms: no time in the report is finer. */
  timerResolutionMs: number;
}

interface UserAgentData {
  platform: string;
  getHighEntropyValues(hints: string[]): Promise<{
    fullVersionList?: { brand: string; version: string }[];
    platformVersion?: string;
    architecture?: string;
  }>;
}

export async function readEnvironment(): Promise<Environment> {
  const { userAgentData, deviceMemory } = navigator as Navigator & {
    userAgentData?: UserAgentData;
    deviceMemory?: number;
  };
  const high = await userAgentData?.getHighEntropyValues(['fullVersionList', 'platformVersion', 'architecture']);
  const brand = high?.fullVersionList?.findLast(({ brand: name }) => !/not.a.brand/i.test(name));
  return {
    browser: brand ? `${brand.brand} ${brand.version}` : browserFromUserAgent(navigator.userAgent),
    os: [userAgentData?.platform ?? osFromUserAgent(navigator.userAgent), high?.platformVersion, high?.architecture]
      .filter(Boolean)
      .join(' '),
    cpuThreads: navigator.hardwareConcurrency,
    ...(deviceMemory !== undefined && { memoryGiB: deviceMemory }),
    crossOriginIsolated: globalThis.crossOriginIsolated,
    timerResolutionMs: measureTimerResolution(),
  };
}

/** User-agent strings name the browser before its version; the last known name wins (Chrome also says Safari). */
function browserFromUserAgent(userAgent: string): string {
  const match = /(Edg|OPR|Firefox|HeadlessChrome|Chrome|Node\.js)\/([\d.]+)/.exec(userAgent);
  if (match) return `${match[1]} ${match[2]}`;
  const safari = /Version\/([\d.]+).*Safari/.exec(userAgent);
  return safari ? `Safari ${safari[1]}` : userAgent;
}

function osFromUserAgent(userAgent: string): string {
  return /\(([^)]+)\)/.exec(userAgent)?.[1] ?? 'unknown';
}

function measureTimerResolution(): number {
  let smallest = Infinity;
  for (let sample = 0; sample < 20; sample++) {
    const start = performance.now();
    let now = start;
    while (now === start) now = performance.now();
    smallest = Math.min(smallest, now - start);
  }
  return smallest;
}
