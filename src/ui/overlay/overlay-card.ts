import { html, nothing } from 'lit';
import type { AdapterInfo, EngineInfo, ModelInfo } from '../../shared/info.ts';
import { modelNumber } from '../../shared/model-number.ts';
import { feelOf, ITL_FEEL, TTFT_FEEL } from '../../runtime/metrics/feel.ts';
import {
  ABSENT,
  formatBytes,
  formatCount,
  formatMs,
  formatMsPerToken,
  formatParameters,
  formatRate,
} from '../internal/format.ts';
import type { Figure } from '../internal/format.ts';
import { renderFeel } from '../internal/render-figure.ts';
import '../parts-bar/parts-bar.ts';
import '../timeline/timeline.ts';
import type { LiveFigures, LivePhase } from './live-figures.ts';
import { plainWords } from './plain-words.ts';
import { partsOf } from './ttft-parts.ts';

/** Gaps beyond this are drawn as stalls: the last limit of feel that is one. */
const SLOW_GAP_MS = ITL_FEEL.filter(({ upToMs }) => Number.isFinite(upToMs)).at(-1)?.upToMs ?? Infinity;

export const PHASE_WORDS: Readonly<Record<LivePhase, string>> = {
  idle: 'Ask something to measure it',
  waiting: 'Waiting for the engine',
  prefill: 'Reading the prompt',
  streaming: 'Streaming',
  done: 'Last answer',
  stopped: 'Stopped',
  failed: 'Failed',
};

export function renderCard(figures: LiveFigures, info: EngineInfo | undefined) {
  const words = plainWords(info, figures);
  return html`
    ${renderFirstToken(figures)} ${renderPerToken(figures)} ${info ? renderEngine(info) : nothing}
    ${
      words.length === 0
        ? nothing
        : html`<section class="words">
            <h3>Why this fast</h3>
            ${words.map((sentence) => html`<p>${sentence}</p>`)}
          </section>`
    }
  `;
}

function renderFirstToken(figures: LiveFigures) {
  const { ttftMs, parts } = figures;
  return html`
    <section>
      <h3>Time to first token</h3>
      <div class="hero">${renderHero(formatMs(ttftMs))} ${renderFeel(feelOf(ttftMs, TTFT_FEEL))}</div>
      <tg-parts-bar .parts=${partsOf(parts ?? {})}></tg-parts-bar>
    </section>
  `;
}

function renderPerToken({ latency, phase, outputTokens, tokensPerSecond }: LiveFigures) {
  const live = phase === 'streaming';
  const shownMs = live ? latency.nowMs : latency.p50Ms;
  return html`
    <section>
      <h3>Per token, ${live ? 'now' : 'median'}</h3>
      <div class="hero">
        ${renderHero(formatMsPerToken(shownMs))} ${renderFeel(feelOf(live ? latency.p50Ms : shownMs, ITL_FEEL))}
      </div>
      <tg-timeline .slowMs=${SLOW_GAP_MS}></tg-timeline>
      <dl class="row">
        ${renderPair('p50', formatMs(latency.p50Ms))} ${renderPair('p95', formatMs(latency.p95Ms))}
        ${renderPair('rate', formatRate(tokensPerSecond))}
        <div>
          <dt>tokens</dt>
          <dd class="figure">${formatCount(phase === 'idle' ? undefined : outputTokens)}</dd>
        </div>
      </dl>
      <p class="count">
        ${latency.n === 0 ? 'No gaps between tokens yet' : html`p50 and p95 of n = ${formatCount(latency.n)} gaps`}
      </p>
    </section>
  `;
}

const renderHero = ({ value, unit, spoken }: Figure) => html`
  <span class="big figure ${value === ABSENT ? 'absent' : ''}">
    <span aria-hidden="true">${value}<span class="unit"> ${unit}</span></span>
    <span class="sr-only">${spoken}</span>
  </span>
`;

const renderPair = (name: string, { value, unit, spoken }: Figure) => html`
  <div>
    <dt>${name}</dt>
    <dd class="figure">
      <span aria-hidden="true">${value}<span class="unit"> ${unit}</span></span
      ><span class="sr-only">${spoken}</span>
    </dd>
  </div>
`;

function renderEngine(info: EngineInfo) {
  const { model } = info;
  return html`
    <section class="engine">
      <h3>Runs on</h3>
      <p>${info.reason}</p>
      <dl>
        <dt>Engine</dt>
        <dd>${info.engine} ${info.version}${info.worker ? ', in a worker' : ''}</dd>
        <dt>Device</dt>
        <dd>${deviceWords(info)}</dd>
        <dt>Model</dt>
        <dd>${modelWords(model)}</dd>
        <dt>Weights</dt>
        <dd>${weightWords(model)}</dd>
      </dl>
    </section>
  `;
}

function modelWords(model: ModelInfo): string {
  const parameters = modelNumber(model, 'parameters');
  const name = model.unknown?.includes('quantization') ? model.id : `${model.id} ${model.quantization}`;
  return parameters === undefined ? name : `${name}, ${formatParameters(parameters)} parameters`;
}

function weightWords(model: ModelInfo): string {
  const [weights, kv] = [modelNumber(model, 'weightBytes'), modelNumber(model, 'kvBytesPerToken')];
  const words = [
    ...(weights === undefined ? [] : [formatBytes(weights)]),
    ...(kv === undefined ? [] : [`KV ${formatBytes(kv)} a token`]),
  ];
  return words.join('; ') || 'not known to this engine';
}

function deviceWords({ engine, adapter, threads }: EngineInfo): string {
  if (adapter) return adapterWords(adapter);
  if (engine === 'endpoint') return 'a server';
  if (engine === 'web-llm') return 'GPU';
  if (threads === undefined) return 'CPU';
  return `CPU, ${threads} ${threads === 1 ? 'thread' : 'threads'}`;
}

function adapterWords({ vendor, architecture, description, isFallback }: AdapterInfo): string {
  const name = description === '' ? `${vendor} ${architecture}`.trim() : description;
  return `${name === '' ? 'GPU' : name}${isFallback ? ' (software, no GPU)' : ''}`;
}
