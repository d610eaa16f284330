import { expect } from 'chai';
import { genAiMeasurements, genAiSpanAttributes, type GenAiRequest } from './gen-ai-attributes.ts';
import { handMadeTrace } from './testing/hand-made-trace.ts';

describe('genAiSpanAttributes', () => {
  const request: GenAiRequest = {
    info: {
      engine: 'webgpu',
      version: '0.1.0',
      model: {
        id: 'tutor',
        architecture: 'llama',
        quantization: 'Q4_0',
        layers: 8,
        hiddenSize: 256,
        heads: 4,
        kvHeads: 2,
        headDim: 64,
        vocabSize: 2048,
        contextTokens: 2048,
        parameters: 6_500_000,
        weightBytes: 3_700_000,
        kvBytesPerToken: 8192,
        fingerprint: 'f',
      },
    },
    trace: handMadeTrace([500, 520, 540], {
      requestId: 'r1',
      usage: { promptTokens: 24, cachedTokens: 16, completionTokens: 3 },
    }),
    sampling: { temperature: 0.7, topP: 0.9 },
    finishReason: 'stop',
  };

  it('genAiSpanAttributes: names of the conventions, in seconds and tokens, and nothing that is absent', () => {
    expect(genAiSpanAttributes(request)).to.deep.equal({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'tokenglass',
      'gen_ai.request.model': 'tutor',
      'gen_ai.response.model': 'tutor',
      'gen_ai.response.id': 'r1',
      'gen_ai.request.stream': true,
      'gen_ai.request.temperature': 0.7,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.time_to_first_chunk': 0.5,
      'gen_ai.usage.input_tokens': 24,
      'gen_ai.usage.output_tokens': 3,
      'gen_ai.usage.cache_read.input_tokens': 16,
      'tokenglass.engine': 'webgpu',
      'tokenglass.version': '0.1.0',
      'tokenglass.model.quantization': 'Q4_0',
      'tokenglass.page.hidden': false,
    });
  });

  it('genAiMeasurements: the histograms a request adds to', () => {
    const values = Object.fromEntries(
      genAiMeasurements(request)
        .filter(({ unit }) => unit === 's')
        .map(({ name, value }) => [name, value]),
    );
    expect(values).to.deep.equal({
      'gen_ai.client.operation.duration': 0.54,
      'gen_ai.client.operation.time_to_first_chunk': 0.5,
      'gen_ai.server.time_to_first_token': 0.5,
      'gen_ai.server.time_per_output_token': 0.02,
    });
    const tokens = genAiMeasurements(request).filter(({ unit }) => unit === '{token}');
    expect(tokens.map(({ value, attributes }) => [attributes['gen_ai.token.type'], value])).to.deep.equal([
      ['input', 24],
      ['output', 3],
    ]);
  });

  it('genAiMeasurements: a failed request adds no time per token', () => {
    const names = genAiMeasurements({ ...request, errorType: 'device-lost' }).map(({ name }) => name);
    expect(names).to.not.include('gen_ai.server.time_per_output_token');
    expect(genAiMeasurements({ ...request, errorType: 'device-lost' })[0]!.attributes['error.type']).to.equal(
      'device-lost',
    );
  });

  it('genAiSpanAttributes: counts that a server does not tell are absent, and not 0', () => {
    const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 3, unknown: ['promptTokens'] as const };
    const untold = { ...request, trace: handMadeTrace([500, 520, 540], { usage }) };
    expect(genAiSpanAttributes(untold)).to.not.have.property('gen_ai.usage.input_tokens');
    expect(genAiSpanAttributes(untold)).to.have.property('gen_ai.usage.output_tokens', 3);
    const counted = genAiMeasurements(untold).flatMap(({ unit, attributes }) =>
      unit === '{token}' ? [attributes['gen_ai.token.type']] : [],
    );
    expect(counted).to.deep.equal(['output']);
  });
});
