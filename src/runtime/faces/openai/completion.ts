import type { OutputToken, TokenEvent } from '../../../shared/generation.ts';
import type { Engine } from '../../request/engine.ts';
import { startAnswers, unended, type Answers, type CallOptions } from './answers.ts';
import type { Completion, CompletionChoice, CompletionLogprobs } from './completion-shapes.ts';
import { apiHead, type ApiHead } from './head.ts';
import { completionLogprobs } from './logprobs.ts';
import { readCompletion, type CompletionJob } from './read-completion.ts';
import { toUsage, type AnswerEnd, type CompletionUsage } from './usage.ts';

/** A request for text completions that has begun; to be read once, in one of two ways. */
export interface StartedCompletion {
  stream: boolean;
  chunks: () => AsyncGenerator<Completion, void, undefined>;
  whole: () => Promise<Completion>;
  controller: AbortController;
}

/** Begins what a body of `/v1/completions` asks for. @throws what the engine throws, and errors of the body */
export async function startCompletion(engine: Engine, body: unknown, options: CallOptions): Promise<StartedCompletion> {
  const job = readCompletion(body, engine.info.model.id);
  const answers = await startAnswers(engine, job.requests, job.n, options);
  const head: ApiHead & Pick<Completion, 'object'> = { ...apiHead('cmpl', engine.info), object: 'text_completion' };
  return {
    stream: job.stream,
    controller: answers.controller,
    async *chunks() {
      const usage = job.includeUsage ? { usage: null } : {};
      const total = yield* choicePieces(answers, job, (choice) => ({ ...head, choices: [choice], ...usage }));
      if (job.includeUsage) yield { ...head, choices: [], usage: total };
    },
    async whole() {
      const choices = Array.from({ length: job.requests.length * job.n }, (_, index) => emptyChoice(index));
      const pieces = choicePieces(answers, job, (choice) => choice);
      let next = await pieces.next();
      for (; next.done !== true; next = await pieces.next()) addTo(choices[next.value.index]!, next.value);
      return { ...head, choices, usage: next.value };
    },
  };
}

async function* choicePieces<Piece>(
  { events }: Answers,
  job: CompletionJob,
  wrap: (choice: CompletionChoice) => Piece,
): AsyncGenerator<Piece, CompletionUsage, undefined> {
  const count = job.requests.length * job.n;
  const choices = Array.from({ length: count }, (_, index) => new CompletionChoiceStream(index, job.topLogprobs));
  for await (const { index, item } of events) {
    const choice = choices[index]!.push(item);
    if (choice) yield wrap(choice);
  }
  return toUsage(
    choices.map(({ end }) => end ?? unended()),
    job.requests.length,
  );
}

/** Events of one answer to what its choice says in each chunk. */
class CompletionChoiceStream {
  end: AnswerEnd | undefined;
  readonly #index: number;
  readonly #top: number | undefined;
  #tokens: OutputToken[] = [];
  /** Text that log-probabilities were told of. */
  #offset = 0;

  constructor(index: number, top: number | undefined) {
    this.#index = index;
    this.#top = top;
  }

  push(event: TokenEvent): CompletionChoice | undefined {
    if (event.type === 'start') return undefined;
    if (event.type === 'end') {
      this.end = { usage: event.usage, trace: event.trace };
      return this.#choice('', event.finishReason);
    }
    this.#tokens.push(...event.tokens);
    return event.text === '' ? undefined : this.#choice(event.text, null);
  }

  #choice(text: string, finishReason: CompletionChoice['finish_reason']): CompletionChoice {
    return { index: this.#index, text, logprobs: this.#logprobs(), finish_reason: finishReason };
  }

  #logprobs(): CompletionLogprobs | null {
    if (this.#top === undefined) return null;
    const logprobs = completionLogprobs(this.#tokens, this.#top, this.#offset);
    this.#tokens = [];
    this.#offset += logprobs.tokens.reduce((length, token) => length + token.length, 0);
    return logprobs.tokens.length > 0 ? logprobs : null;
  }
}

const emptyChoice = (index: number): CompletionChoice => ({ index, text: '', logprobs: null, finish_reason: null });

function addTo(choice: CompletionChoice, { text, logprobs, finish_reason }: CompletionChoice): void {
  choice.text += text;
  if (logprobs) {
    const all = (choice.logprobs ??= { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] });
    all.tokens.push(...logprobs.tokens);
    all.token_logprobs.push(...logprobs.token_logprobs);
    all.top_logprobs.push(...logprobs.top_logprobs);
    all.text_offset.push(...logprobs.text_offset);
  }
  if (finish_reason) choice.finish_reason = finish_reason;
}
