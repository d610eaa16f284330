import { TokenglassError } from '../../../shared/errors.ts';
import { instantiate } from './module.ts';
import type { KernelOptions } from './kernels/operation.ts';

/** Name of a worker that is a thread of the engine, and not an engine. */
export const THREAD_NAME = 'tokenglass-wasm-thread';

interface ThreadStart {
  memory: WebAssembly.Memory;
  options: KernelOptions;
  thread: number;
}

/** The worker's side: waits for its start, then works until it is ended. */
export function serveThread(scope: typeof globalThis): void {
  const port = scope as unknown as Pick<Worker, 'addEventListener' | 'postMessage'>;
  port.addEventListener('message', ({ data }: MessageEvent<ThreadStart>) => {
    void instantiate(data.options, data.memory).then((kernels) => {
      port.postMessage('ready');
      kernels.work!(data.thread, 0);
    });
  });
}

/** Threads beside the calling one. */
export interface ThreadPool {
  /** Resolves, once, when a thread has died. */
  readonly lost: Promise<Error>;
  end(): void;
}

/**
 * Starts workers, which all run the same file, and waits until each has its kernels.
 * @throws TokenglassError `worker-dead` if one does not start
 */
export async function startThreads(
  url: string,
  count: number,
  { memory, options }: Omit<ThreadStart, 'thread'>,
): Promise<ThreadPool> {
  let lose: (error: Error) => void = () => undefined;
  const lost = new Promise<Error>((resolve) => {
    lose = resolve;
  });
  const workers = Array.from({ length: count }, () => new Worker(url, { type: 'module', name: THREAD_NAME }));
  const end = (): void => {
    for (const worker of workers) worker.terminate();
  };
  try {
    await Promise.all(
      workers.map(
        (worker, index) =>
          new Promise<void>((resolve, reject) => {
            const fail = (cause: unknown): void => {
              const message = 'Cannot go on: a thread of the CPU engine has died; load the model again';
              const error = new TokenglassError('worker-dead', message, { cause });
              lose(error);
              reject(error);
            };
            worker.onerror = (event) => fail((event as { message?: string }).message);
            worker.onmessageerror = () => fail('what it was sent could not be read');
            worker.onmessage = () => resolve();
            worker.postMessage({ memory, options, thread: index + 1 });
          }),
      ),
    );
  } catch (error) {
    end();
    throw error;
  }
  return { lost, end };
}

/** The script of the worker that this code runs in; undefined in a page, where the script is not ours. */
export function ownWorkerUrl(): string | undefined {
  const { WorkerGlobalScope, location } = globalThis as { WorkerGlobalScope?: unknown; location?: { href: string } };
  return WorkerGlobalScope === undefined ? undefined : location?.href;
}
