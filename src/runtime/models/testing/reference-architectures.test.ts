import { expectReferenceAgreesWithLlamaCpp } from './reference-agreement.ts';
import { ARCHITECTURE_CASES, syntheticName } from './synthetic-cases.ts';

// In a file of its own, so that it runs beside the other cases.
describe('createReferenceModel', () => {
  for (const model of ARCHITECTURE_CASES) {
    it(`createReferenceModel: agrees with llama.cpp on ${syntheticName(model)}`, () =>
      expectReferenceAgreesWithLlamaCpp(model));
  }
});
