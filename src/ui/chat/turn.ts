import { html, nothing } from 'lit';
import type { TokenglassError } from '../../shared/errors.ts';
import type { RequestTrace } from '../../shared/trace.ts';
import { decodeRate } from '../../runtime/metrics/rates.ts';
import { tpot } from '../../runtime/metrics/tpot.ts';
import { ttft } from '../../runtime/metrics/ttft.ts';
import { ABSENT, formatAgo, formatCount, formatMs, formatMsPerToken, formatRate } from '../internal/format.ts';
import { describeError } from '../internal/describe-error.ts';
import { icons } from '../internal/icons.ts';
import '../copy-button/copy-button.ts';
import '../markdown/markdown.ts';
import '../token-view/token-view.ts';
import type { AnswerStatus, Turn } from './conversation.ts';

export interface TurnView {
  isLast: boolean;
  /** By token where tokens are known, not as formatted text. */
  showTokens: boolean;
  status: AnswerStatus;
  /** The reader wants the answer again. */
  onAgain: () => void;
  /** The reader wants an answer that was cut short to go on, or not to. Absent while there is no engine. */
  onGoOn: (() => void) | undefined;
  onDismiss: () => void;
}

/** Said while there is no text yet. */
const WAITING: Readonly<Partial<Record<AnswerStatus, string>>> = {
  waiting: 'Waiting for the model to load',
  queued: 'Waiting for the engine',
  prefill: 'Reading the prompt',
};

/** One question and its answer. */
export function renderTurn(turn: Turn, view: TurnView) {
  const waiting = WAITING[view.status];
  return html`
    <article class="turn">
      <div class="question" part="question"><span class="sr-only">You asked:</span>${turn.question}</div>
      <div class="answer" part="answer">
        <span class="sr-only">The model answers:</span>
        ${waiting === undefined ? nothing : html`<p class="waiting">${waiting}</p>`}
        ${view.showTokens && turn.pieces ? html`<tg-token-view .source=${turn.pieces}></tg-token-view>` : nothing}
        <tg-markdown
          data-turn=${turn.id}
          .source=${turn.answer}
          ?hidden=${view.showTokens && turn.pieces !== undefined}
        ></tg-markdown>
        ${turn.error ? renderError(turn.error, view) : nothing}
        ${view.status === 'cut' && turn.cut ? renderCut(turn.cut.atMs, view) : nothing}
        ${view.status === 'done' || view.status === 'stopped' ? renderFooter(turn, view) : nothing}
      </div>
    </article>
  `;
}

function renderFooter(turn: Turn, view: TurnView) {
  return html`
    <footer>
      ${view.status === 'stopped' ? html`<span class="note">${turn.note ?? 'Stopped'}</span>` : nothing}
      ${turn.trace ? renderReceipt(turn.trace) : nothing}
      <span class="actions">
        <tg-copy-button .text=${() => turn.answer.text} label="Copy answer"></tg-copy-button>
        ${
          view.isLast
            ? html`<button type="button" class="quiet again" @click=${view.onAgain}>${icons.again} Regenerate</button>`
            : nothing
        }
      </span>
    </footer>
  `;
}

/** What this answer took, for good: the overlay goes on to the next one. */
function renderReceipt(trace: RequestTrace) {
  const figures = [
    { name: 'first token', ...formatMs(ttft(trace)) },
    { name: 'average', ...formatMsPerToken(tpot(trace)) },
    { name: '', ...formatRate(decodeRate(trace)) },
  ].filter(({ value }) => value !== ABSENT);
  const { completionTokens, unknown } = trace.usage;
  return html`
    <span class="receipt">
      ${figures.map(({ name, value, unit }) => html`<span class="figure">${name} <b>${value}</b> ${unit}</span>`)}
      ${
        unknown?.includes('completionTokens')
          ? nothing
          : html`<span class="figure"><b>${formatCount(completionTokens)}</b> tokens</span>`
      }
    </span>
  `;
}

function renderCut(atMs: number, { onGoOn, onDismiss }: TurnView) {
  return html`
    <div class="cut" part="cut" role="group" aria-label="The answer was cut short">
      <p>This answer was cut short ${formatAgo(Date.now() - atMs)}.</p>
      <div class="choices">
        <button type="button" class="outline go-on" ?disabled=${!onGoOn} @click=${onGoOn}>
          ${icons.arrow} Go on with it
        </button>
        <button type="button" class="quiet dismiss" @click=${onDismiss}>Dismiss</button>
      </div>
    </div>
  `;
}

function renderError(error: TokenglassError, view: TurnView) {
  const { title, advice } = describeError(error);
  return html`
    <div class="error" role="alert">
      <p class="title">${icons.warning} ${title}</p>
      <p>${advice}</p>
      <p class="sentence">${error.message}</p>
      ${
        view.isLast
          ? html`<button type="button" class="outline again" @click=${view.onAgain}>${icons.again} Try again</button>`
          : nothing
      }
    </div>
  `;
}
