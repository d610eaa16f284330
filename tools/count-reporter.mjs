// web-test-runner reporter: writes how many tests passed, failed and were skipped to the file named in TEST_COUNTS.
import { writeFileSync } from 'node:fs';

const count = (suite, into) => {
  for (const test of suite.tests) into[test.skipped ? 'skipped' : test.passed ? 'passed' : 'failed'] += 1;
  for (const inner of suite.suites) count(inner, into);
};

export function countReporter() {
  return {
    onTestRunFinished({ sessions }) {
      if (!process.env.TEST_COUNTS) return;
      const counts = { passed: 0, failed: 0, skipped: 0 };
      for (const session of sessions) {
        if (session.testResults) count(session.testResults, counts);
        // A file that fails to load or times out has no results of its own: it counts as one failure.
        if (!session.passed && !session.testResults?.tests.length && !session.testResults?.suites.length)
          counts.failed += 1;
      }
      writeFileSync(process.env.TEST_COUNTS, JSON.stringify(counts));
    },
  };
}
