import { expect } from 'chai';
import { isTokenglassError } from '../../../shared/errors.ts';
import type { GenerateRequest } from '../../../shared/generation.ts';
import { answer, rejection } from './collect.ts';
import type { Subject } from './engine-contract.ts';
import { MALFORMED_REQUESTS } from './malformed-requests.ts';

/** Wrong requests, too long ones, and the engine's own end. */
export function describeRefusals({ make, engine, options, requests, solo, expectUsable }: Subject): void {
  it(`validation: ${MALFORMED_REQUESTS.length} malformed requests each give an error that names the field`, async () => {
    const wrong: string[] = [];
    for (const [field, request] of MALFORMED_REQUESTS) {
      const error = await rejection(answer(engine(), request as GenerateRequest));
      const isRight =
        (isTokenglassError(error, 'invalid-request') || isTokenglassError(error, 'unsupported')) &&
        error.details['field'] === field;
      if (!isRight) wrong.push(`${field}: ${String(error)}`);
    }
    expect(wrong).to.deep.equal([]);
    await expectUsable();
  });

  it('validation: is an error of the iteration, never of the call', () => {
    expect(() => engine().generate(null as unknown as GenerateRequest)).not.to.throw();
  });

  it('context-overflow: a prompt longer than the context is refused with both numbers', async function () {
    const { contextTokens } = engine().info.model;
    const text = 'latency, throughput and goodput; '.repeat(contextTokens / 4);
    const error = await rejection(answer(engine(), { prompt: text }));
    expect(error.code).to.equal('context-overflow');
    const { details } = error as Error & { details: Record<string, number> };
    expect(details['contextTokens']).to.equal(contextTokens);
    expect(details['promptTokens']).to.be.at.least(contextTokens);
    if (options.takesTokenIds) {
      const ids = Array.from({ length: contextTokens + 5 }, () => solo()[0]!.ids[0]!);
      const byIds = await rejection(answer(engine(), { promptTokens: ids }));
      expect(byIds.code).to.equal('context-overflow');
      expect((byIds as typeof error & { details: unknown }).details).to.include({ promptTokens: contextTokens + 5 });
    }
    await expectUsable();
  });

  it('timeoutMs: a request whose time is over ends with "timeout", and one that has time, or runs beside it, is right', async () => {
    const running = answer(engine(), requests[0]!);
    const late = await rejection(answer(engine(), { ...requests[1]!, timeoutMs: 0 }));
    expect(late).to.deep.include({ code: 'timeout', details: { timeoutMs: 0 } });
    expect((await running).text).to.equal(solo()[0]!.text);
    expect((await answer(engine(), { ...requests[0]!, timeoutMs: 1e6 })).text).to.equal(solo()[0]!.text);
  });

  it('dispose: rejects what runs, what waits and what comes with "disposed", and may be called twice', async () => {
    const other = await make();
    const running = rejection(answer(other, { ...requests[0]!, maxTokens: options.tokens * 4 }));
    const waiting = rejection(answer(other, requests[1]!));
    await Promise.all([other.dispose(), other[Symbol.asyncDispose]()]);
    await other.dispose();
    expect((await running).code).to.equal('disposed');
    expect((await waiting).code).to.equal('disposed');
    expect((await rejection(answer(other, requests[0]!))).code).to.equal('disposed');
    expect((await rejection(other.countTokens({ prompt: 'hi' }))).code).to.equal('disposed');
  });
}
