import type { Engine } from '../../request/engine.ts';
import { startAnswers, unended, type Answers, type CallOptions } from './answers.ts';
import { ChatChoiceStream } from './chat-choice.ts';
import type { ChatChoice, ChatChunkChoice, ChatCompletion, ChatCompletionChunk, ToolCall } from './chat-shapes.ts';
import { apiHead, type ApiHead } from './head.ts';
import { readChat, type ChatJob } from './read-chat.ts';
import { toUsage, type CompletionUsage } from './usage.ts';

/** A chat request that has begun. */
export interface StartedChat {
  stream: boolean;
  /** To be read once, in one of two ways: chunks as they come, or the whole. */
  chunks: () => AsyncGenerator<ChatCompletionChunk, void, undefined>;
  whole: () => Promise<ChatCompletion>;
  controller: AbortController;
}

/** Begins what a body of `/v1/chat/completions` asks for. @throws what the engine throws, and errors of the body */
export async function startChat(engine: Engine, body: unknown, options: CallOptions): Promise<StartedChat> {
  const job = readChat(body, engine.info.model.id);
  const answers = await startAnswers(engine, [job.request], job.n, options);
  const head = apiHead('chatcmpl', engine.info);
  return {
    stream: job.stream,
    controller: answers.controller,
    chunks: () => chatChunks(answers, job, head),
    whole: () => wholeChat(answers, job, head),
  };
}

async function* chatChunks(
  answers: Answers,
  job: ChatJob,
  head: ApiHead,
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const usage = job.includeUsage ? { usage: null } : {};
  const chunk = { ...head, object: 'chat.completion.chunk' as const };
  const total = yield* choiceChunks(answers, job, (choice) => ({ ...chunk, choices: [choice], ...usage }));
  if (job.includeUsage) yield { ...chunk, choices: [], usage: total };
}

/** @returns the usage of all answers */
async function* choiceChunks<Chunk>(
  { events }: Answers,
  job: ChatJob,
  wrap: (choice: ChatChunkChoice) => Chunk,
): AsyncGenerator<Chunk, CompletionUsage, undefined> {
  const choices = Array.from({ length: job.n }, (_, index) => new ChatChoiceStream(index, job));
  for await (const { index, item } of events) yield* choices[index]!.push(item).map(wrap);
  return toUsage(choices.map(({ end }) => end ?? unended()));
}

async function wholeChat(answers: Answers, job: ChatJob, head: ApiHead): Promise<ChatCompletion> {
  const choices = Array.from({ length: job.n }, (_, index) => emptyChoice(index));
  const pieces = choiceChunks(answers, job, (choice) => choice);
  let next = await pieces.next();
  for (; next.done !== true; next = await pieces.next()) addTo(choices[next.value.index]!, next.value);
  for (const { message } of choices) if (message.content === '' && message.tool_calls) message.content = null;
  return { ...head, object: 'chat.completion', choices, usage: next.value };
}

const emptyChoice = (index: number): ChatChoice => ({
  index,
  message: { role: 'assistant', content: '', refusal: null },
  logprobs: null,
  finish_reason: 'stop',
});

function addTo(choice: ChatChoice, { delta, logprobs, finish_reason }: ChatChunkChoice): void {
  const { message } = choice;
  if (delta.content !== undefined) message.content = (message.content ?? '') + delta.content;
  if (delta.reasoning_content !== undefined)
    message.reasoning_content = (message.reasoning_content ?? '') + delta.reasoning_content;
  for (const { index, id, function: called } of delta.tool_calls ?? []) {
    const calls = (message.tool_calls ??= []);
    const call: ToolCall = (calls[index] ??= { id: id ?? '', type: 'function', function: { name: '', arguments: '' } });
    call.function.name += called.name ?? '';
    call.function.arguments += called.arguments ?? '';
  }
  if (logprobs)
    choice.logprobs = { content: [...(choice.logprobs?.content ?? []), ...logprobs.content], refusal: null };
  if (finish_reason) choice.finish_reason = finish_reason;
}
