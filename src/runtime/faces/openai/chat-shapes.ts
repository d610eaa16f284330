import type { SamplingBody } from '../../request/sampling-parameters.ts';
import type { CompletionUsage } from './usage.ts';

/** A part of a message's content; other kinds than text are refused. */
export interface TextPart {
  type: 'text';
  text: string;
}

/** A call of a tool that a model made. */
export interface ToolCall {
  id: string;
  type: 'function';
  /** `arguments` is JSON text; a model may have written invalid JSON. */
  function: { name: string; arguments: string };
}

/** A chat turn as OpenAI has it. */
export interface ChatMessageParam {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** Null is for an assistant's turn that only calls tools. */
  content?: string | readonly TextPart[] | null;
  name?: string;
  /** Of an assistant's turn. */
  tool_calls?: readonly ToolCall[];
  /** Of a tool's turn: the call that it answers. */
  tool_call_id?: string;
  /** Of an assistant's turn: handed to the chat template. */
  reasoning_content?: string;
}

/** A function that the model may call; `parameters` is a JSON Schema. */
export interface ToolParam {
  type: 'function';
  function: {
    name: string;
    description?: string;
    parameters?: Readonly<Record<string, unknown>>;
    strict?: boolean | null;
  };
}

/** Makes the answer JSON, or JSON that a schema allows. */
export type ResponseFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | {
      type: 'json_schema';
      json_schema: {
        name: string;
        description?: string;
        schema?: Readonly<Record<string, unknown>>;
        strict?: boolean | null;
      };
    };

/**
 * Parameters that chat and text completions share, as OpenAI names them, with vLLM's further ones. Null is like absent. A seed is any whole
 * number, taken modulo 2 to the 32; with `n`, each further answer takes the next one.
 */
interface SamplingParam extends SamplingBody {
  /** @default the engine's model; another one is a 404 */
  model?: string;
  stream?: boolean | null;
  stream_options?: { include_usage?: boolean; include_obfuscation?: boolean } | null;
  logit_bias?: Readonly<Record<string, number>> | null;
  stop?: string | readonly string[] | null;
  ignore_eos?: boolean | null;
  /** Answers to make. @default 1 */
  n?: number | null;
  user?: string;
}

/** What `chat.completions.create` takes. */
export interface ChatCompletionRequest extends SamplingParam {
  messages: readonly ChatMessageParam[];
  max_tokens?: number | null;
  max_completion_tokens?: number | null;
  logprobs?: boolean | null;
  top_logprobs?: number | null;
  tools?: readonly ToolParam[];
  tool_choice?: 'none' | 'auto' | 'required' | { type: 'function'; function: { name: string } };
  parallel_tool_calls?: boolean | null;
  response_format?: ResponseFormat | null;
  /** More variables for the chat template, such as `enable_thinking`. */
  chat_template_kwargs?: Readonly<Record<string, unknown>> | null;
}

export type ChatFinishReason = 'stop' | 'length' | 'tool_calls';

/** A token as OpenAI tells it: its text (with U+FFFD where it is half a character) and its bytes. */
export interface TopLogprob {
  token: string;
  logprob: number;
  bytes: number[] | null;
}

export interface ChatLogprobs {
  content: (TopLogprob & { top_logprobs: TopLogprob[] })[];
  refusal: null;
}

export interface ChatChoice {
  index: number;
  message: {
    role: 'assistant';
    /** Null if the turn only calls tools. */
    content: string | null;
    refusal: null;
    /** What stood between `<think>` and `</think>`; absent if there was none. */
    reasoning_content?: string;
    tool_calls?: ToolCall[];
  };
  logprobs: ChatLogprobs | null;
  finish_reason: ChatFinishReason;
}

export interface ChatCompletion {
  id: string;
  object: 'chat.completion';
  /** Seconds since the Unix epoch. */
  created: number;
  model: string;
  system_fingerprint: string;
  choices: ChatChoice[];
  usage: CompletionUsage;
}

/** What is new of a call; `id` and `name` come once, `arguments` in pieces. */
export interface ToolCallDelta {
  index: number;
  id?: string;
  type?: 'function';
  function: { name?: string; arguments?: string };
}

export interface ChatDelta {
  role?: 'assistant';
  content?: string;
  reasoning_content?: string;
  tool_calls?: ToolCallDelta[];
}

export interface ChatChunkChoice {
  index: number;
  delta: ChatDelta;
  logprobs: ChatLogprobs | null;
  finish_reason: ChatFinishReason | null;
}

export interface ChatCompletionChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  system_fingerprint: string;
  /** Empty in the chunk that carries the usage. */
  choices: ChatChunkChoice[];
  /** Only with `stream_options.include_usage`: in a last chunk, and null in those before. */
  usage?: CompletionUsage | null;
}
