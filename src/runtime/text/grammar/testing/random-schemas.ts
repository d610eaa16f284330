import { SeededRandom } from '../../../models/testing/random.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** A schema that is drawn by its seed: objects and arrays of a few levels, with the keywords that structured outputs use. */
export function randomSchema(seed: number): Schema {
  const random = new SeededRandom(seed);
  return object(random, 3);
}

const NAMES = ['name', 'age', 'city', 'a b', 'caf\u00e9', 'tags', 'is_ok', 'x/y'];

function anySchema(random: SeededRandom, depth: number): Schema {
  const kinds: ((random: SeededRandom, depth: number) => Schema)[] = [
    text,
    integer,
    number,
    choice,
    truth,
    nullable,
    constant,
    dated,
  ];
  if (depth > 0) kinds.push(object, list, alternatives);
  return kinds[random.integer(kinds.length)]!(random, depth);
}

function object(random: SeededRandom, depth: number): Schema {
  const count = 1 + random.integer(4);
  const start = random.integer(NAMES.length);
  const names = Array.from({ length: count }, (_, index) => NAMES[(start + index) % NAMES.length]!);
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, anySchema(random, depth - 1)])),
    required: names.filter(() => random.uniform() < 0.7),
    additionalProperties: false,
  };
}

const list = (random: SeededRandom, depth: number): Schema => ({
  type: 'array',
  items: anySchema(random, depth - 1),
  minItems: random.integer(2),
  maxItems: 2 + random.integer(2),
});

const text = (random: SeededRandom): Schema => ({ type: 'string', minLength: random.integer(3), maxLength: 8 });
const integer = (random: SeededRandom): Schema => ({
  type: 'integer',
  minimum: -random.integer(50),
  maximum: 50 + random.integer(1000),
});
const number = (): Schema => ({ type: 'number', minimum: 0, maximum: 10 });
const truth = (): Schema => ({ type: 'boolean' });
const nullable = (): Schema => ({ type: ['boolean', 'null'] });
const constant = (): Schema => ({ const: 'fixed \u2603' });
const choice = (random: SeededRandom): Schema => ({
  enum: ['red', 'say "hi" \\ \n', 7, null, true].slice(0, 2 + random.integer(4)),
});
const dated = (): Schema => ({ type: 'string', pattern: '^[a-c]{2}-[0-9]{1,3}$' });

const alternatives = (random: SeededRandom, depth: number): Schema => ({
  anyOf: [anySchema(random, depth - 1), anySchema(random, depth - 1)],
});
