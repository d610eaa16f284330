import type { Remote } from 'comlink';
import { abortError } from '../shared/errors.ts';
import type { PrefixCache } from '../shared/prefix-cache.ts';
import type { EngineHost } from './protocol.ts';

/**
 * The prefix cache of the engine in the worker.
 * @param orClosed rejects a call when the worker is gone
 */
export function remotePrefixCache(
  host: Remote<EngineHost>,
  orClosed: <Result>(call: () => Promise<Result>) => Promise<Result>,
): PrefixCache {
  let nextId = 1;
  return {
    async prefill(messages, signal) {
      if (signal?.aborted) throw abortError(signal);
      const id = nextId++;
      const onAbort = (): void => void host.cancelPrefill(id);
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        return await orClosed(() => host.prefill(id, messages));
      } catch (error) {
        throw signal?.aborted ? abortError(signal) : error;
      } finally {
        signal?.removeEventListener('abort', onAbort);
      }
    },
    pin: (messages) => orClosed(() => host.pinPrefix(messages)),
    unpin: (messages) => orClosed(() => host.unpinPrefix(messages)),
    inspect: () => orClosed(() => host.inspectPrefixes()),
    clear: () => orClosed(() => host.clearPrefixes()),
    stats: () => orClosed(() => host.prefixStats()),
  };
}
