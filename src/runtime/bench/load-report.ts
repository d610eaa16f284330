import { checkSchema } from './check-schema.ts';
import { REPORT_FORMAT, type Report } from './report.ts';
import { REPORT_SCHEMA } from './report-schema.ts';

/** What is wrong with a report, in sentences; empty for a valid one. */
export function reportProblems(value: unknown): string[] {
  const foreign = foreignFormat(value);
  return foreign === undefined ? checkSchema(value, REPORT_SCHEMA) : [foreign];
}

/**
 * Reads the text of a report.
 * @throws RangeError whose message says what is wrong with an old, foreign, broken or incomplete file
 */
export function loadReport(text: string): Report {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RangeError(
      'Cannot load the report: the file is no JSON; choose one that this page or the command line wrote',
      { cause },
    );
  }
  const problems = reportProblems(value);
  if (problems.length === 0) return value as Report;
  const more = problems.length > 3 ? `, and ${problems.length - 3} more` : '';
  throw new RangeError(`Cannot load the report: ${problems.slice(0, 3).join('; ')}${more}`);
}

/** Why this is no report of this version at all. */
function foreignFormat(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'the file holds no report';
  const { format } = value as { format?: unknown };
  if (format === REPORT_FORMAT) return undefined;
  if (typeof format !== 'string')
    return 'the file says no format: it is not from Tokenglass, or older than its reports';
  if (format.startsWith('tokenglass.scenario/')) return 'the file is of a scenario, which has figures and no runs';
  const version = /^tokenglass\.report\/(\d+)$/.exec(format)?.[1];
  if (version === undefined) return `the file is of the format ${format}, which is not ours`;
  return `the file is of ${format}, and this version reads ${REPORT_FORMAT}: ${Number(version) > 1 ? 'update Tokenglass' : 'run it again'}`;
}
