/**
 * The part of JSON Schema 2020-12 that our schemas use. A validator for all of it would be larger than the rest of the page; tests hold this
 * one against a complete one, and a keyword it does not know does not compile.
 */
export interface Schema {
  $schema?: string;
  $ref?: string;
  $defs?: Readonly<Record<string, Schema>>;
  title?: string;
  description?: string;
  type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean';
  const?: string | number | boolean;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  minItems?: number;
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: Schema;
  anyOf?: readonly Schema[];
}

/** Problems are sentences with the place in them; more than these are not looked for. */
const MOST_PROBLEMS = 20;

/** What is wrong with `value`, in words; empty if nothing is. */
export function checkSchema(value: unknown, schema: Schema): string[] {
  const problems: string[] = [];
  check(value, schema, { place: '', root: schema, problems });
  return problems.slice(0, MOST_PROBLEMS);
}

interface Context {
  place: string;
  root: Schema;
  problems: string[];
}

function check(value: unknown, schema: Schema, context: Context): void {
  const { place, root, problems } = context;
  if (problems.length >= MOST_PROBLEMS) return;
  const say = (what: string): void => void problems.push(`${place || 'the report'} ${what}`);
  if (schema.$ref !== undefined) check(value, root.$defs![schema.$ref.replace('#/$defs/', '')]!, context);
  if (schema.type !== undefined && !isOfType(value, schema.type)) {
    say(`is ${nameOf(value)}, and has to be ${schema.type === 'integer' ? 'a whole number' : nameOfType(schema.type)}`);
    return;
  }
  if (schema.const !== undefined && value !== schema.const)
    say(`is ${show(value)}, and has to be ${show(schema.const)}`);
  if (schema.enum && !schema.enum.includes(value as string))
    say(`is ${show(value)}, and has to be one of ${schema.enum.join(', ')}`);
  if (typeof value === 'number') checkNumber(value, schema, say);
  if (typeof value === 'string' && value.length < (schema.minLength ?? 0)) say('is empty');
  if (Array.isArray(value)) checkItems(value, schema, context, say);
  else if (typeof value === 'object' && value !== null)
    checkProperties(value as Record<string, unknown>, schema, context);
  if (schema.anyOf) checkBranches(value, schema.anyOf, context);
}

function checkNumber(value: number, schema: Schema, say: (what: string) => void): void {
  if (value < (schema.minimum ?? -Infinity)) say(`is ${value}, and has to be at least ${schema.minimum}`);
  if (value > (schema.maximum ?? Infinity)) say(`is ${value}, and has to be at most ${schema.maximum}`);
  if (value <= (schema.exclusiveMinimum ?? -Infinity))
    say(`is ${value}, and has to be above ${schema.exclusiveMinimum}`);
}

function checkItems(items: readonly unknown[], schema: Schema, context: Context, say: (what: string) => void): void {
  if (items.length < (schema.minItems ?? 0)) say(`has ${items.length} entries, and needs at least ${schema.minItems}`);
  if (!schema.items) return;
  for (const [index, item] of items.entries())
    check(item, schema.items, { ...context, place: `${context.place}[${index}]` });
}

function checkProperties(object: Record<string, unknown>, schema: Schema, context: Context): void {
  const placeOf = (name: string): string => (context.place ? `${context.place}.${name}` : name);
  for (const name of schema.required ?? [])
    if (!Object.hasOwn(object, name)) context.problems.push(`${placeOf(name)} is missing`);
  for (const [name, value] of Object.entries(object)) {
    const inner =
      schema.properties && Object.hasOwn(schema.properties, name)
        ? schema.properties[name]
        : schema.additionalProperties;
    if (inner) check(value, inner, { ...context, place: placeOf(name) });
  }
}

/** If none fits, what is wrong with the one that comes closest: of the same `kind` if there is one, else with the fewest problems. */
function checkBranches(value: unknown, branches: readonly Schema[], context: Context): void {
  const attempts = branches.map((branch) => {
    const problems: string[] = [];
    check(value, branch, { ...context, problems });
    const isOfKind = problems.every((problem) => !problem.includes('has to be "'));
    return { problems, distance: problems.length + (isOfKind ? 0 : MOST_PROBLEMS) };
  });
  const closest = attempts.reduce((best, attempt) => (attempt.distance < best.distance ? attempt : best));
  context.problems.push(...closest.problems);
}

function isOfType(value: unknown, type: NonNullable<Schema['type']>): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

const show = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
const nameOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : nameOfType(typeof value);
const nameOfType = (type: string): string =>
  type === 'array' ? 'a list' : type === 'object' ? 'an object' : type === 'boolean' ? 'true or false' : `a ${type}`;
