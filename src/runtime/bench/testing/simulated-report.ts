import type { Environment } from '../environment.ts';
import { makeReport } from '../make-report.ts';
import type { Report } from '../report.ts';
import type { SimulatedService } from './simulated-engine.ts';
import { ONE_SECOND, simulateRun } from './simulated-run.ts';

type Changes = Parameters<typeof simulateRun>[0];

const ENVIRONMENT: Environment = {
  browser: 'Chromium 150.0',
  os: 'Linux x86',
  cpuThreads: 4,
  crossOriginIsolated: true,
  timerResolutionMs: 0.005,
};

/** The report of a simulated run, as it comes back from a file. */
export const reportOf = async (changes: Changes = {}, service: SimulatedService = ONE_SECOND): Promise<Report> => {
  const { run } = await simulateRun(changes, service);
  return JSON.parse(
    JSON.stringify(await makeReport([run], { version: '0.0.0', command: 'test', environment: ENVIRONMENT })),
  ) as Report;
};

/** Service times that differ from request to request as a real device's do, by about 5 %. */
export const jittery = (factor: number): SimulatedService => ({
  firstTokenMs: ({ sampling }) => 400 * factor * (1 + 0.05 * Math.sin(sampling!.seed! * 12.9898)),
  tokenMs: ({ sampling }, token) => 100 * factor * (1 + 0.05 * Math.sin((sampling!.seed! + token * 31) * 78.233)),
});
