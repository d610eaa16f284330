import { isTokenglassError, TokenglassError, type ErrorCode } from '../../../shared/errors.ts';

/** Name and message of whatever the library throws. */
export interface MlcFault {
  name: string;
  message: string;
}

/**
 * From its worker the library throws strings, "Name: message"; the WASM runtime throws objects that are no errors, and these come from a
 * worker as "[object Object]".
 */
export function faultOf(thrown: unknown): MlcFault {
  if (typeof thrown === 'string') {
    const [, name, message] = /^([A-Za-z]\w*): ([^]*)$/.exec(thrown) ?? [];
    if (name !== undefined && message !== undefined) return { name, message };
    return { name: thrown === '[object Object]' ? 'ExitStatus' : 'Error', message: thrown };
  }
  const { name, message } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Partial<MlcFault>;
  return {
    name: typeof name === 'string' ? name : 'Error',
    message: typeof message === 'string' ? message : String(thrown),
  };
}

/** Faults of a request, and what to do about each. */
const OF_REQUEST: Readonly<Record<string, readonly [code: ErrorCode, field: string]>> = {
  MessageOrderError: ['invalid-request', 'messages'],
  SystemMessageOrderError: ['invalid-request', 'messages'],
  UnsupportedRoleError: ['invalid-request', 'messages'],
  ContentTypeError: ['invalid-request', 'messages'],
  GrammarMatcherInitError: ['invalid-request', 'grammar'],
  InvalidResponseFormatError: ['invalid-request', 'grammar'],
  InvalidResponseFormatGrammarError: ['invalid-request', 'grammar'],
  UnsupportedModelIdError: ['unsupported', 'templateVariables.tools'],
};

/** True for what is left of an engine whose device, or whose WASM, is gone. */
const isGone = ({ name, message }: MlcFault): boolean =>
  /^(?:ModelNotLoadedError|WorkerEngineModelNotLoadedError|DeviceLostError|ExitStatus)$/.test(name) ||
  /program terminated with exit|device (?:was|is) lost|object has already been disposed/i.test(message);

/** An error of an answer. */
export function errorOfAnswer(thrown: unknown): TokenglassError {
  if (isTokenglassError(thrown)) return thrown;
  const fault = faultOf(thrown);
  if (fault.name === 'ContextWindowSizeExceededError') return overflow(fault, thrown);
  if (isGone(fault)) return lost(fault, thrown);
  const [code, field] = OF_REQUEST[fault.name] ?? [];
  if (code !== undefined)
    return new TokenglassError(code, `Cannot generate: web-llm refuses it ("${said(fault)}"); change ${field}`, {
      cause: thrown,
      details: { field },
    });
  return new TokenglassError('internal', `Cannot go on: web-llm failed (${fault.name}: "${said(fault)}"); try again`, {
    cause: thrown,
  });
}

/** @param fault what was told; absent if only the device said so */
export function lost(fault?: MlcFault, cause?: unknown): TokenglassError {
  const because = fault ? ` (web-llm says "${said(fault)}")` : '';
  return new TokenglassError(
    'device-lost',
    `Cannot go on: the GPU device is lost${because}; load the model again, a smaller one if this repeats`,
    { cause },
  );
}

function overflow(fault: MlcFault, cause: unknown): TokenglassError {
  const [promptTokens, contextTokens] = (fault.message.match(/\d+/g) ?? []).map(Number);
  return new TokenglassError(
    'context-overflow',
    `Cannot generate: the prompt has ${promptTokens ?? 'more'} tokens and the context holds ${contextTokens ?? 'fewer'}, the answer included; shorten the prompt`,
    { cause, details: { promptTokens, contextTokens } },
  );
}

/** Faults of a load that no other copy of the files would mend. */
const OF_LOAD: readonly (readonly [name: RegExp, code: ErrorCode, whatToDo: string])[] = [
  [/^ModelNotFoundError$/, 'model-not-found', 'take a name of listWebLlmModels(), or give modelUrl and modelLibUrl'],
  [/^WebGPUNot(?:Available|Found)Error$/, 'no-webgpu', 'use a browser with WebGPU, or take another engine'],
  [
    /^(?:ShaderF16|Feature)SupportError$/,
    'missing-feature',
    'take a model that does not need it (of a name with q4f32_1)',
  ],
  [/^DeviceLostError$/, 'device-lost', 'take a smaller model or a shorter context'],
  [/^QuotaExceededError$/, 'storage-full', 'free some space'],
  [/^LinkError$/, 'model-unsupported', 'give the model library that belongs to this version of the package'],
];

/** An error of a load; `details.clearCache` is the model's name where a broken file may have stayed in the library's cache. */
export function errorOfLoad(thrown: unknown, model: string): TokenglassError {
  if (isTokenglassError(thrown)) return thrown;
  const fault = faultOf(thrown);
  const make = (code: ErrorCode, whatToDo: string, details: Readonly<Record<string, unknown>> = {}): TokenglassError =>
    new TokenglassError(code, `Cannot load ${model} with web-llm: ${fault.name}, "${said(fault)}"; ${whatToDo}`, {
      cause: thrown,
      details: { model, ...details },
    });
  for (const [name, code, whatToDo] of OF_LOAD) if (name.test(fault.name)) return make(code, whatToDo);
  if (/quota/i.test(fault.message)) return make('storage-full', 'free some space');
  if (/import #?\d+|function import requires/i.test(fault.message))
    return make('model-unsupported', OF_LOAD.at(-1)![2]);
  if (isNetwork(fault)) return make('network', 'check the connection and the URLs, and try again');
  // The library takes what it downloaded for good: HTML in place of a config, or half a shard, fails in every later load too.
  return make(
    'model-invalid',
    `a file of it is broken and may have stayed in the cache of the library: call clearWebLlmCache(${JSON.stringify(model)}) and load again`,
    { clearCache: model },
  );
}

const isNetwork = ({ name, message }: MlcFault): boolean =>
  name === 'NetworkError' ||
  /failed to fetch|network (?:error|response was not ok)|networkerror|load failed|on 'Cache': Request failed|failed to store/i.test(
    message,
  );

const MAX_WORDS = 300;
const said = ({ message }: MlcFault): string => message.slice(0, MAX_WORDS);
