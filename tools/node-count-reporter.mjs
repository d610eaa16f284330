// node:test reporter: writes how many tests passed, failed and were skipped to the file named in TEST_COUNTS.
import { writeFileSync } from 'node:fs';

export default async function* countReporter(source) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.details?.type === 'suite') continue;
    counts[data.skip || data.todo ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed'] += 1;
  }
  if (process.env.TEST_COUNTS) writeFileSync(process.env.TEST_COUNTS, JSON.stringify(counts));
  yield '';
}
