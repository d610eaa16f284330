import { randomId } from '../../../shared/random-id.ts';
import type { EngineInfo } from '../../../shared/info.ts';

/** What is the same in every chunk of a response. */
export interface ApiHead {
  id: string;
  /** Seconds since the Unix epoch. */
  created: number;
  model: string;
  /** Changes when the engine or the weights do: answers with a seed may then be others. */
  system_fingerprint: string;
}

/** @param prefix `chatcmpl` or `cmpl` */
export const apiHead = (prefix: string, { engine, version, model }: EngineInfo): ApiHead => ({
  id: `${prefix}-${randomId()}`,
  created: nowSeconds(),
  model: model.id,
  system_fingerprint: `${engine}-${version}-${model.fingerprint.slice(0, 16)}`,
});

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);
