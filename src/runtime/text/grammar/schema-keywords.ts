import { TokenglassError } from '../../../shared/errors.ts';

/** Keywords of JSON Schema that a grammar of tokens cannot say, or that xgrammar passes over; an answer could break them. */
const BEYOND: ReadonlySet<string> = new Set([
  'not',
  'if',
  'then',
  'else',
  'uniqueItems',
  'multipleOf',
  'contains',
  'minContains',
  'maxContains',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
  '$dynamicRef',
  '$recursiveRef',
]);

/** Members whose own members are schemas by name, or whose values are data. */
const BY_NAME: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required', 'title', 'description']);

/**
 * Refuses a schema that would not be kept to in full: an answer that breaks it in silence is worse than none.
 * @throws TokenglassError `unsupported` with the keyword
 */
export function refuseKeywords(schema: unknown): void {
  if (Array.isArray(schema)) {
    schema.forEach(refuseKeywords);
    return;
  }
  if (typeof schema !== 'object' || schema === null) return;
  for (const [keyword, value] of Object.entries(schema as Readonly<Record<string, unknown>>)) {
    if (BEYOND.has(keyword) && value !== false) throw beyond(`the keyword ${keyword}`, keyword);
    if (DATA.has(keyword)) continue;
    if (keyword === 'pattern') refusePattern(value);
    if (BY_NAME.has(keyword) && typeof value === 'object' && value !== null) {
      refuseNames(keyword, Object.keys(value));
      Object.values(value).forEach(refuseKeywords);
    } else refuseKeywords(value);
  }
}

/** xgrammar 0.1.27 writes names into its own grammar text without escaping them, and aborts. Delete when it does. */
function refuseNames(keyword: string, names: readonly string[]): void {
  if (keyword === 'patternProperties') names.forEach(refusePattern);
  else if (names.some((name) => /["\\\p{Cc}]/u.test(name)))
    throw beyond('a name with quotes, backslashes or control characters', keyword);
}

/** xgrammar 0.1.27 takes a pattern for the JSON text itself, so that one that allows a quote or backslash would break out of its string. */
function refusePattern(pattern: unknown): void {
  if (typeof pattern !== 'string') return;
  const outsideClasses = pattern.replaceAll(/\[(?:\\.|[^\]])*\]/gs, '');
  if (/\[\^|\\[WDSpP\\]|"/.test(pattern) || /(?<!\\)\./.test(outsideClasses))
    throw beyond('a pattern that allows any character (a dot, [^...], a quote)', 'pattern');
}

function beyond(what: string, keyword: string): TokenglassError {
  return new TokenglassError(
    'unsupported',
    `Cannot generate by this schema: ${what} cannot be kept to token by token; leave it out`,
    { details: { field: 'grammar', keyword } },
  );
}
