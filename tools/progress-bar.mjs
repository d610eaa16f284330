// How far a benchmark is, on standard error: a bar that is drawn again on a terminal, nothing where a file is written.
const WIDTH = 24;

/** @returns {{ show(progress: object | number, of?: number): void, end(): void }} */
export function progressBar(stream = process.stderr) {
  if (!stream.isTTY) return { show: () => undefined, end: () => undefined };
  return {
    show: (progress, of) => {
      const { share, text } = typeof progress === 'number' ? ofSteps(progress, of) : ofRun(progress);
      const filled = Math.round(Math.min(1, share) * WIDTH);
      stream.write(
        `\r\x1b[2K${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${text}`.slice(0, 10 + (stream.columns ?? 100)),
      );
    },
    end: () => stream.write('\r\x1b[2K'),
  };
}

const ofSteps = (done, of) => ({ share: done / of, text: `${done} of ${of}` });

function ofRun({ stage, engine, label, done, of, failed, elapsedMs, leftMs, runsDone, runsOf, p95HalfWidth }) {
  const share = of ? done / of : leftMs === undefined ? 0 : elapsedMs / (elapsedMs + leftMs || 1);
  const parts = [
    `${engine}${label ? `, ${label}` : ''}: ${stage}`,
    of ? `${done} of ${of}` : `${done} requests`,
    failed ? `${failed} failed` : '',
    leftMs === undefined ? '' : `${Math.ceil(leftMs / 1000)} s left`,
    p95HalfWidth === undefined ? '' : `TTFT p95 ±${(p95HalfWidth * 100).toFixed(0)} %`,
    runsOf === 1 ? '' : runsOf ? `run ${runsDone + 1} of ${runsOf}` : `run ${runsDone + 1}`,
  ];
  return { share, text: parts.filter(Boolean).join(' · ') };
}
