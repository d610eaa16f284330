import { TokenglassError } from './errors.ts';

/** "Cannot generate: <field> <what is>; <what to do>", with the field's name in `details.field`. */
export function invalid(field: string, whatIs: string, whatToDo: string): TokenglassError {
  return new TokenglassError('invalid-request', `Cannot generate: ${field} ${whatIs}; ${whatToDo}`, {
    details: { field },
  });
}

/** A surrogate without its other half: no Unicode text, and a tokenizer would silently turn it into U+FFFD. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Checks of one field of a request; each gives the value with its type, or throws `invalid-request` that names the field. */
export const check = {
  object(value: unknown, field: string): Record<string, unknown> {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw invalid(field, `is ${describe(value)}`, 'give an object');
    return value as Record<string, unknown>;
  },

  /** Refuses misspelt fields instead of ignoring them. */
  knownFields(value: Readonly<Record<string, unknown>>, known: Readonly<Record<string, true>>, prefix: string): void {
    for (const name of Object.keys(value)) {
      if (value[name] !== undefined && !Object.hasOwn(known, name))
        throw invalid(prefix + name.slice(0, 40), 'is not known', `use only ${Object.keys(known).join(', ')}`);
    }
  },

  array(value: unknown, field: string, minLength: number, maxLength: number): unknown[] {
    if (!Array.isArray(value)) throw invalid(field, `is ${describe(value)}`, 'give an array');
    if (value.length < minLength) throw invalid(field, 'is empty', `give at least ${minLength} entry`);
    if (value.length > maxLength) throw invalid(field, `has ${value.length} entries`, `give at most ${maxLength}`);
    return Array.from(value as unknown[]); // holes become undefined, which the check of the entries refuses
  },

  text(value: unknown, field: string): string {
    if (typeof value !== 'string') throw invalid(field, `is ${describe(value)}`, 'give a string');
    if (LONE_SURROGATE.test(value))
      throw invalid(field, 'holds a lone surrogate', 'give well-formed Unicode text (String.prototype.toWellFormed)');
    return value;
  },

  number(value: unknown, field: string, min: number, max: number): number {
    if (typeof value !== 'number') throw invalid(field, `is ${describe(value)}`, 'give a number');
    if (!(value >= min && value <= max)) throw invalid(field, `is ${value}`, `give a number from ${min} to ${max}`);
    return value;
  },

  integer(value: unknown, field: string, min: number, max: number): number {
    const number = check.number(value, field, min, max);
    if (!Number.isInteger(number)) throw invalid(field, `is ${number}`, 'give a whole number');
    return number;
  },

  optionalBoolean(value: unknown, field: string): boolean {
    if (value === undefined) return false;
    if (typeof value !== 'boolean') throw invalid(field, `is ${describe(value)}`, 'give true or false');
    return value;
  },

  /** A deep copy of an object of plain data: what JSON can say. */
  plainObject(value: unknown, field: string): Record<string, unknown> {
    return plain(check.object(value, field), field, 0) as Record<string, unknown>;
  },

  ids(value: unknown, field: string, vocabSize: number, minLength: number, maxLength: number): number[] {
    return check
      .array(value, field, minLength, maxLength)
      .map((id, index) => check.integer(id, `${field}[${index}]`, 0, vocabSize - 1));
  },
};

const MAX_DEPTH = 64;

function plain(value: unknown, field: string, depth: number): unknown {
  if (depth > MAX_DEPTH) throw invalid(field, `is nested more than ${MAX_DEPTH} deep`, 'give flatter data');
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return check.text(value, field);
  if (typeof value === 'number') return check.number(value, field, -Number.MAX_VALUE, Number.MAX_VALUE);
  if (Array.isArray(value)) return Array.from(value, (item, index) => plain(item, `${field}[${index}]`, depth + 1));
  if (typeof value !== 'object') throw invalid(field, `is ${describe(value)}`, 'give plain data');
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    entries.map(([key, item]) => [check.text(key, field), plain(item, `${field}.${key.slice(0, 40)}`, depth + 1)]),
  );
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return value === undefined ? 'missing' : `of type ${typeof value}`;
}
