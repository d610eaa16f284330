import type { OutputToken, TokenEvent } from '../../../shared/generation.ts';
import type { ChatChunkChoice, ChatDelta, ChatFinishReason } from './chat-shapes.ts';
import { chatLogprobs } from './logprobs.ts';
import type { ChatJob } from './read-chat.ts';
import { ReasoningSplitter } from './reasoning-splitter.ts';
import { ToolCallParser } from './tool-call-parser.ts';
import type { AnswerEnd } from './usage.ts';

/** Events of one answer to what its choice says in each chunk. */
export class ChatChoiceStream {
  /** Once the answer has ended. */
  end: AnswerEnd | undefined;
  readonly #index: number;
  readonly #topLogprobs: number | undefined;
  readonly #tools: ToolCallParser | undefined;
  #reasoning = new ReasoningSplitter();
  /** Tokens whose log-probabilities go out with the next chunk that says something. */
  #untold: OutputToken[] = [];

  constructor(index: number, { topLogprobs, toolUse }: ChatJob) {
    this.#index = index;
    this.#topLogprobs = topLogprobs;
    this.#tools =
      toolUse &&
      new ToolCallParser(
        toolUse.tools.map(({ name }) => name),
        toolUse.single,
      );
  }

  push(event: TokenEvent): ChatChunkChoice[] {
    if (event.type === 'start') {
      if (event.promptTail !== undefined) this.#reasoning = new ReasoningSplitter(event.promptTail);
      return [this.#choice({ role: 'assistant', content: '' })];
    }
    if (event.type === 'delta') {
      this.#untold.push(...event.tokens);
      return this.#say(this.#reasoning.push(event.text));
    }
    this.end = { usage: event.usage, trace: event.trace };
    const tail = this.#say(this.#reasoning.flush());
    const rest = this.#tools?.flush().content ?? '';
    if (rest !== '') tail.push(this.#choice({ content: rest }));
    const reason = this.#tools?.hasCalls === true && event.finishReason === 'stop' ? 'tool_calls' : event.finishReason;
    return [...tail, this.#choice({}, reason)];
  }

  #say({ reasoning, content }: { reasoning: string; content: string }): ChatChunkChoice[] {
    const choices: ChatChunkChoice[] = [];
    if (reasoning !== '') choices.push(this.#choice({ reasoning_content: reasoning }));
    const said = this.#tools?.push(content) ?? { content, calls: [] };
    if (said.content !== '') choices.push(this.#choice({ content: said.content }));
    if (said.calls.length > 0) choices.push(this.#choice({ tool_calls: said.calls }));
    return choices;
  }

  #choice(delta: ChatDelta, finishReason: ChatFinishReason | null = null): ChatChunkChoice {
    const tokens = this.#untold;
    this.#untold = [];
    const content = this.#topLogprobs === undefined ? [] : chatLogprobs(tokens, this.#topLogprobs);
    return {
      index: this.#index,
      delta,
      logprobs: content.length > 0 ? { content, refusal: null } : null,
      finish_reason: finishReason,
    };
  }
}
