import { systemClock } from '../../../shared/clock.ts';
import { LocalEngine, type LocalEngineParts } from '../local-engine.ts';
import { byteTokenizer, encodeBytePrompt } from './byte-tokenizer.ts';
import { FakeBackend, type FakeBackendOptions } from './fake-backend.ts';

/** A LocalEngine over a {@link FakeBackend} and the byte tokenizer. */
export function createFakeEngine(
  options: FakeBackendOptions = {},
  parts: Partial<LocalEngineParts> = {},
): { engine: LocalEngine; backend: FakeBackend } {
  const clock = parts.clock ?? options.clock ?? systemClock;
  const backend = new FakeBackend({ ...options, clock });
  const engine = new LocalEngine({
    backend,
    tokenizer: byteTokenizer,
    encodePrompt: encodeBytePrompt,
    clock,
    info: { engine: 'fake', version: '0', model: backend.info.model, reason: 'It is a test.', worker: false },
    ...parts,
  });
  return { engine, backend };
}
