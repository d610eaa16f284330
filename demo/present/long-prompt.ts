const DEPARTMENTS = ['The help desk', 'The sales team', 'The warehouse', 'The travel desk', 'The editors'] as const;
const RULES = [
  'answers in short sentences and names the number that matters.',
  'never guesses a price; it says where the price is to be found.',
  'gives a time as hours and minutes, and a length in metres.',
  'asks one question back if an order has no number.',
  'says what is not known before it says what is.',
  'writes names of products as they stand on the box.',
  'keeps what a customer has told it out of every other answer.',
] as const;

/** A system prompt as companies write them: some 700 words that every request begins with, and that a prefix cache computes once. */
export const LONG_PROMPT = DEPARTMENTS.flatMap((who) => RULES.map((rule) => `${who} ${rule}`)).join(' ');
