import type { EngineInfo } from '../../shared/info.ts';
import { chromeTrace, type ChromeTrace } from '../../runtime/metrics/chrome-trace.ts';
import type { Delivery } from '../../runtime/metrics/delivery.ts';
import type { TraceLog } from '../../runtime/metrics/trace-log.ts';

/** All that is recorded, as a trace that Perfetto opens. */
export const traceOf = (log: TraceLog, deliveries: readonly Delivery[], info: EngineInfo | undefined): ChromeTrace =>
  chromeTrace({
    requests: log.requests,
    steps: log.steps,
    deliveries,
    about: {
      browser: navigator.userAgent,
      ...(info && { engine: `${info.engine} ${info.version}`, model: `${info.model.id} ${info.model.quantization}` }),
    },
  });
