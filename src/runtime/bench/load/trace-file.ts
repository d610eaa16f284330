/** One request of a recorded trace. */
export interface TraceEntry {
  /** From the first request, ms. */
  arrivalMs: number;
  promptTokens: number;
  outputTokens: number;
}

/** Names of the fields: ours, then those of the Mooncake traces, whose timestamps are in ms as well. */
const NAMES: Readonly<Record<keyof TraceEntry, readonly string[]>> = {
  arrivalMs: ['arrivalMs', 'arrival_ms', 'timestamp'],
  promptTokens: ['promptTokens', 'prompt_tokens', 'input_length'],
  outputTokens: ['outputTokens', 'output_tokens', 'output_length'],
};

/**
 * Reads JSON Lines with arrival (ms), prompt tokens and output tokens in each; sorted by arrival, the first at 0.
 * @throws RangeError that names the line and the field
 */
export function parseTrace(text: string): TraceEntry[] {
  const entries = text.split('\n').flatMap((line, index) => (line.trim() ? [parseLine(line, index + 1)] : []));
  if (entries.length === 0) throw new RangeError('Cannot replay the trace: it has no requests');
  entries.sort((a, b) => a.arrivalMs - b.arrivalMs);
  const firstMs = entries[0]!.arrivalMs;
  return entries.map((entry) => ({ ...entry, arrivalMs: entry.arrivalMs - firstMs }));
}

function parseLine(line: string, number: number): TraceEntry {
  let object: Record<string, unknown>;
  try {
    object = Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    throw new RangeError(`Cannot replay the trace: line ${number} is no JSON`);
  }
  const read = (field: keyof TraceEntry, least: number): number => {
    const value = NAMES[field].map((name) => object[name]).find((found) => found !== undefined);
    if (typeof value !== 'number' || !(value >= least) || !Number.isFinite(value))
      throw new RangeError(
        `Cannot replay the trace: line ${number} has no ${field} of at least ${least} (also read as ${NAMES[field].slice(1).join(', ')})`,
      );
    return value;
  };
  return {
    arrivalMs: read('arrivalMs', 0),
    promptTokens: Math.round(read('promptTokens', 1)),
    outputTokens: Math.round(read('outputTokens', 1)),
  };
}

/** Lengths of a file: one number a line, or a JSON array. @throws RangeError in words */
export function parseLengths(text: string): number[] {
  const trimmed = text.trim();
  const values = trimmed.startsWith('[') ? (JSON.parse(trimmed) as unknown[]) : trimmed.split(/[\s,]+/).map(Number);
  return values.map((value, index) => {
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 1)
      throw new RangeError(`Cannot read lengths: number ${index + 1} is ${String(value)}; give numbers of at least 1`);
    return Math.round(value);
  });
}
