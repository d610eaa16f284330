import { html, LitElement, nothing, type PropertyValues } from 'lit';
import { keyed } from 'lit/directives/keyed.js';
import { repeat } from 'lit/directives/repeat.js';
import type { SamplingParams } from '../../shared/generation.ts';
import type { Engine } from '../../runtime/request/engine.ts';
import { controls } from '../styles/controls.ts';
import { tokens } from '../styles/tokens.ts';
import type { GenerationResult } from '../controllers/generation-controller.ts';
import { StickToBottom } from '../controllers/stick-to-bottom.ts';
import type { TgSubmitEvent } from '../events/composer-events.ts';
import { TgWaitingEvent } from '../events/waiting-event.ts';
import { icons } from '../internal/icons.ts';
import type { TgMarkdown } from '../markdown/markdown.ts';
import '../composer/composer.ts';
import { AnswerController } from './answer-controller.ts';
import { chatStyles } from './chat.styles.ts';
import { Conversation, type Turn } from './conversation.ts';
import { findCutAnswers } from './cut-answers.ts';
import { renderTurn } from './turn.ts';

/**
 * A chat with a model that runs in the page. Questions asked before there is an engine wait for it. A conversation whose last answer was cut
 * short, by a reload, a crash or a lost device, is taken up again where the engine takes answers down, and the answer can go on.
 *
 * @summary Conversation, composer, and the events an overlay follows
 * @slot empty - Shown above the suggestions while nothing has been asked
 * @slot status - Above the field: progress of loading, say
 * @slot note - A line under the field
 * @event tg-waiting - Something was asked, and there is no engine yet
 * @event tg-request-start - A request was sent to the engine
 * @event tg-prefill - The engine begins to read the prompt
 * @event tg-first-token - The first text reached the page
 * @event tg-tokens - Text and tokens reached the page
 * @event tg-request-end - The answer is complete, or was stopped
 * @event tg-error - The request failed
 * @csspart log - The scrolling conversation
 * @csspart question - A question
 * @csspart answer - An answer
 * @csspart cut - What is offered of an answer that was cut short
 * @csspart foot - Field and note
 * @cssproperty --tg-chat-block-size - Height (default 36rem)
 *
 * @example
 * ```html
 * <tg-chat system-prompt="You are brief." max-tokens="200"></tg-chat>
 * <script type="module">
 *   document.querySelector('tg-chat').engine = await createEngine({ model: 'tutor' });
 * </script>
 * ```
 */
export class TgChat extends LitElement {
  static override styles = [tokens, controls, chatStyles];
  static override properties = {
    engine: { attribute: false },
    systemPrompt: { type: String, attribute: 'system-prompt' },
    placeholder: { type: String },
    maxTokens: { type: Number, attribute: 'max-tokens' },
    historyTurns: { type: Number, attribute: 'history-turns' },
    sampling: { attribute: false },
    suggestions: { attribute: false },
    showTokens: { type: Boolean, attribute: 'show-tokens', reflect: true },
    announcement: { state: true },
  };

  /** Who answers. Setting another one stops an answer that is on. */
  declare engine: Engine | undefined;
  /** Put before the conversation; empty for none. @default '' */
  declare systemPrompt: string;
  /** Shown in the field while it is empty. @default 'Ask a question' */
  declare placeholder: string;
  /** At most this many tokens an answer. @default what is left of the context */
  declare maxTokens: number | undefined;
  /** How many earlier turns the model is given. @default Infinity (all) */
  declare historyTurns: number;
  /** How answers are sampled. @default the engine's (greedy) */
  declare sampling: SamplingParams | undefined;
  /** Questions to begin with. @default [] */
  declare suggestions: readonly string[];
  /**
   * Answers are shown token by token, tinted by the time each took, in place of formatted text. Those that are asked for meanwhile come with the
   * probability of each token, from an engine of this library; that of others would cost time, or is refused. @default false
   */
  declare showTokens: boolean;
  declare private announcement: string;

  readonly #conversation = new Conversation();
  readonly #scroll = new StickToBottom(this);
  readonly #answers = new AnswerController(this, this.#conversation, (turn) => this.#handleSettled(turn));

  constructor() {
    super();
    this.systemPrompt = '';
    this.placeholder = 'Ask a question';
    this.historyTurns = Infinity;
    this.suggestions = [];
    this.showTokens = false;
    this.announcement = '';
    this.addEventListener('keydown', this.#handleKeydown);
  }

  /** True while an answer is made or waits to be. */
  get busy(): boolean {
    return this.#answers.busy || this.#conversation.last?.status === 'waiting';
  }

  /**
   * Asks as if the user had written it. An answer that is on is stopped first.
   *
   * @returns the result; undefined if it failed, or if it waits for an engine
   */
  async ask(question: string): Promise<GenerationResult | undefined> {
    this.#interrupt();
    this.#leaveCut();
    const turn = this.#conversation.add(question);
    return this.#answer(turn);
  }

  /** Makes the last answer again; also the way on after an error or a stop. */
  async regenerate(): Promise<GenerationResult | undefined> {
    const turn = this.#conversation.last;
    if (!turn) return undefined;
    this.#interrupt();
    this.#leaveCut();
    this.#conversation.reopen(turn);
    return this.#answer(turn);
  }

  /**
   * Goes on with the last answer, if it was cut short: with the same tokens as without the cut.
   *
   * @returns the result; undefined if it failed, or if there is no such answer
   */
  async goOn(): Promise<GenerationResult | undefined> {
    const { engine } = this;
    const turn = this.#conversation.last;
    if (!engine || !turn?.cut) return undefined;
    this.#scroll.toEnd();
    this.announcement = 'Going on with the answer';
    this.requestUpdate();
    this.focus();
    return this.#answers.resume(turn, engine, turn.cut.id);
  }

  /** Forgets the last answer's rest, if it was cut short; a conversation that was only restored for it goes, too. */
  dismiss(): void {
    if (!this.#conversation.last?.cut) return;
    const { isRestored } = this.#conversation;
    this.#leaveCut();
    if (isRestored) this.#conversation.clear();
    this.announcement = 'Dismissed';
    this.requestUpdate();
    this.focus();
  }

  /** Stops the answer that is on; what has arrived of it stays. */
  stop(): void {
    this.#stopWaiting();
    this.#answers.stop();
  }

  /** Starts a new conversation. */
  clear(): void {
    this.#interrupt();
    this.#leaveCut();
    this.#conversation.clear();
    this.announcement = 'New conversation';
    this.requestUpdate();
    this.focus();
  }

  override focus(options?: FocusOptions): void {
    this.renderRoot.querySelector('tg-composer')?.focus(options);
  }

  protected override firstUpdated(): void {
    const scroller = this.renderRoot.querySelector<HTMLElement>('.scroll');
    const content = this.renderRoot.querySelector<HTMLElement>('.content');
    if (scroller && content) this.#scroll.observe(scroller, content);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('engine')) return;
    if (changed.get('engine') !== undefined && this.#answers.busy) this.#interrupt();
    const last = this.#conversation.last;
    if (last?.status === 'waiting') void this.#answer(last);
    else if (this.engine) void this.#findCut(this.engine);
  }

  /** Offers to go on with an answer of this chat that was cut short: in a page that was loaded again, or whose engine was. */
  async #findCut(engine: Engine): Promise<void> {
    const answers = await findCutAnswers(engine, this.systemPrompt);
    if (this.engine !== engine || this.busy) return;
    const [latest] = answers;
    if (!this.#conversation.last && latest) {
      this.#conversation.restore(latest);
    } else if (!this.#conversation.recognise(answers, this.systemPrompt, this.historyTurns)) {
      // Another tab has gone on with it, or it was cleared.
      this.#conversation.endCut();
      this.requestUpdate();
      return;
    }
    this.announcement = 'The last answer was cut short. You can go on with it, or dismiss it.';
    this.#scroll.toEnd();
    this.requestUpdate();
  }

  /** Something else is wanted than to go on with the last answer. */
  #leaveCut(): void {
    const { last } = this.#conversation;
    if (!last?.cut) return;
    void this.engine?.discard?.(last.cut.id).catch(() => undefined);
    this.#conversation.endCut();
    this.requestUpdate();
  }

  async #answer(turn: Turn): Promise<GenerationResult | undefined> {
    this.#scroll.toEnd();
    this.announcement = '';
    this.requestUpdate();
    if (!this.engine) {
      this.dispatchEvent(new TgWaitingEvent());
      return undefined;
    }
    return this.#answers.run(turn, this.engine, {
      messages: this.#conversation.messages(this.systemPrompt, this.historyTurns),
      ...(this.sampling && { sampling: this.sampling }),
      ...(this.maxTokens !== undefined && { maxTokens: this.maxTokens }),
      ...(this.showTokens && this.engine.info.scheduling && { logprobs: 1 }),
    });
  }

  /** Ends what is on: something new takes its place. */
  #interrupt(): void {
    this.#stopWaiting();
    this.#answers.interrupt();
  }

  #stopWaiting(): void {
    const { last } = this.#conversation;
    if (last?.status !== 'waiting') return;
    this.#conversation.settle(last, 'stopped');
    this.#handleSettled(last);
  }

  #handleSettled(turn: Turn): void {
    this.requestUpdate();
    // The error has a live region of its own.
    if (turn.status !== 'error') void this.#announce(turn);
  }

  /** Reads the finished answer out once, as it is shown. */
  async #announce(turn: Turn): Promise<void> {
    await this.updateComplete;
    const shown = this.renderRoot.querySelector<TgMarkdown>(`tg-markdown[data-turn="${turn.id}"]`);
    await shown?.updateComplete;
    const text = shown?.plainText.trim() ?? '';
    this.announcement = turn.status === 'stopped' ? `${turn.note ?? 'Stopped'}. ${text}` : text;
  }

  readonly #handleKeydown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || event.isComposing || !this.busy) return;
    event.preventDefault();
    this.stop();
  };

  readonly #handleSubmit = (event: TgSubmitEvent): void => {
    event.stopPropagation();
    void this.ask(event.text);
  };

  readonly #handleStop = (event: Event): void => {
    event.stopPropagation();
    this.stop();
  };

  readonly #handleSuggestion = (event: Event): void => {
    const text = (event.currentTarget as HTMLElement).dataset['question'];
    if (text === undefined) return;
    void this.ask(text);
    this.focus();
  };

  #renderEmpty() {
    return html`
      <div class="empty">
        <slot name="empty"><p class="welcome">Ask a question to begin.</p></slot>
        ${
          this.suggestions.length === 0
            ? nothing
            : html`<ul class="suggestions" aria-label="Suggested questions">
                ${this.suggestions.map(
                  (question) =>
                    html`<li>
                      <button type="button" data-question=${question} @click=${this.#handleSuggestion}>
                        <span>${question}</span>${icons.arrow}
                      </button>
                    </li>`,
                )}
              </ul>`
        }
      </div>
    `;
  }

  #renderTurns() {
    const { last, turns } = this.#conversation;
    // `repeat` of lit-html 3.3 leaves a comment behind for each item that it removes; a new conversation is drawn anew.
    return keyed(
      turns[0]?.id,
      repeat(
        turns,
        (turn) => turn.id,
        (turn) =>
          renderTurn(turn, {
            isLast: turn === last,
            showTokens: this.showTokens,
            status: this.#answers.statusOf(turn),
            onAgain: () => void this.regenerate(),
            onGoOn: this.engine?.resume && (() => void this.goOn()),
            onDismiss: () => this.dismiss(),
          }),
      ),
    );
  }

  protected override render() {
    const empty = this.#conversation.turns.length === 0;
    this.#scroll.follows = !empty;
    return html`
      <div
        class="scroll"
        part="log"
        role="log"
        aria-label="Conversation"
        aria-live="off"
        aria-busy=${this.busy}
        tabindex="0"
      >
        <div class="content">${empty ? this.#renderEmpty() : this.#renderTurns()}</div>
      </div>
      <div class="over">
        ${
          this.#scroll.atEnd || empty
            ? nothing
            : html`<button type="button" class="outline jump" @click=${() => this.#scroll.toEnd()}>
                ${icons.down} Latest
              </button>`
        }
      </div>
      <div class="foot" part="foot">
        <div class="column">
          <slot name="status"></slot>
          <tg-composer
            .placeholder=${this.placeholder}
            .busy=${this.busy}
            @tg-submit=${this.#handleSubmit}
            @tg-stop=${this.#handleStop}
          ></tg-composer>
          <div class="under">
            <slot name="note"></slot>
            ${
              empty
                ? nothing
                : html`<span class="actions"
                    ><button
                      type="button"
                      class="quiet"
                      aria-pressed=${this.showTokens}
                      @click=${() => (this.showTokens = !this.showTokens)}
                    >
                      ${icons.ticks} <span class="name">Token timing</span></button
                    ><button type="button" class="quiet" @click=${() => this.clear()}>
                      ${icons.plus} <span class="name">New chat</span>
                    </button></span
                  >`
            }
          </div>
        </div>
      </div>
      <div class="sr-only" role="status" aria-live="polite">${this.announcement}</div>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'tg-chat': TgChat;
  }
}

if (!customElements.get('tg-chat')) customElements.define('tg-chat', TgChat);
