import { leaveBreadcrumb } from '../../load/breadcrumb.ts';
import { createModelStore } from '../store/model-store.ts';
import { storedSource } from '../stored-source.ts';
import { createUrlSource } from '../url-source.ts';
import { FaultServer, weightsLike } from './fault-server.ts';
import { CHUNK_BYTES } from './test-store.ts';

/** What a test asks of a worker that it may then kill: a second tab, as far as locks and IndexedDB can tell. */
export type WorkerTask =
  | { task: 'breadcrumb'; databaseName: string; model: string }
  | {
      task: 'download';
      databaseName: string;
      /** Size and seed of the file. */
      bytes: number;
      seed: number;
      /** The network goes silent after so many bytes. */
      stallAfterBytes?: number;
    };

/** What it answers: once at the stall, or at the end. */
export interface WorkerReport {
  state: 'stalled' | 'done';
  requests: number;
  servedBytes: number;
  /** Bytes that were read; only with `done`. */
  readBytes?: number;
}

onmessage = ({ data }: MessageEvent<WorkerTask>) => {
  void (data.task === 'breadcrumb' ? breadcrumb(data) : download(data));
};

async function breadcrumb({ databaseName, model }: WorkerTask & { task: 'breadcrumb' }): Promise<void> {
  const store = createModelStore({ databaseName });
  const left = await leaveBreadcrumb(store, model);
  left.note(4.5e8);
  // Nobody waits for a note to be written, but a test that kills the worker next must.
  while ((await store.internals.database.listLoading()).some(({ bytes }) => bytes === undefined));
  postMessage('left');
}

async function download(task: WorkerTask & { task: 'download' }): Promise<void> {
  const { databaseName, bytes, seed, stallAfterBytes } = task;
  const store = createModelStore({ databaseName, chunkBytes: CHUNK_BYTES });
  const server = new FaultServer();
  server.serve('/m/model.gguf', { bytes: weightsLike('gguf', bytes, seed), etag: `"${seed}"` });
  const report = (state: WorkerReport['state'], readBytes?: number): void => {
    const { requests, servedBytes } = server;
    postMessage({ state, requests: requests.length, servedBytes, readBytes } satisfies {
      [Field in keyof WorkerReport]: WorkerReport[Field] | undefined;
    });
  };
  if (stallAfterBytes !== undefined) {
    server.faults = [{ kind: 'stall', afterBytes: stallAfterBytes }];
    server.onPiece = () => {
      if (server.servedBytes === stallAfterBytes) report('stalled');
    };
  }
  const source = storedSource(createUrlSource('https://host.test/m/', { id: 'm', fetch: server.fetch }), { store });
  let readBytes = 0;
  const { stream } = await source.open('model.gguf');
  for await (const piece of stream) readBytes += piece.length;
  store.close();
  report('done', readBytes);
}
