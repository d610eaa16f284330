import { whenDead } from '../alive.ts';
import type { FromSwitchboard, Generation, SharePlace, ToSwitchboard } from './protocol.ts';

/** What a switchboard needs of its surroundings. */
export interface SwitchboardOptions {
  /** The lock that is held for as long as this thread lives. */
  lock: string;
  /** Serves the engine to a client in this thread; the code of the engine is loaded when this is first called. */
  serveHere: (port: MessagePort, lock: string) => void;
  /** Whether the engine is better here than in a tab. */
  choosePlace: (join: Join) => Promise<SharePlace>;
  /** Nobody is left. */
  onEmpty: () => void;
}

type Join = Extract<ToSwitchboard, { type: 'join' }>;

interface Client {
  port: MessagePort;
  lock: string;
  page: string;
  gone: AbortController;
  /** It has asked for a port and has none yet. */
  waits: boolean;
  /** Why it can start no worker. */
  cannotHost?: string;
}

interface Host {
  generation: Generation;
  place: SharePlace;
  /** Whose page has started it; absent in the SharedWorker. */
  page?: string;
  attach: (port: MessagePort, lock: string) => void;
  end: () => void;
}

/**
 * Brings clients and the engine together, and knows nothing of either's talk: who asks is given a port to the host. The first who asks is
 * made host, where the engine does not run here; when the host is gone, the next one is.
 */
export class Switchboard {
  readonly #options: SwitchboardOptions;
  readonly #clients = new Set<Client>();
  #optionsKey: string | undefined;
  #place: SharePlace | undefined;
  #host: Host | undefined;
  /** A client that has been asked to host. */
  #asked: { generation: Generation; client: Client } | undefined;
  #generation: Generation = 0;

  constructor(options: SwitchboardOptions) {
    this.#options = options;
  }

  /** True while there is a client. */
  get isUsed(): boolean {
    return this.#clients.size > 0;
  }

  /** A page has connected. */
  connect(port: MessagePort): void {
    let client: Client | undefined;
    port.onmessage = ({ data }: MessageEvent<ToSwitchboard>) => {
      if (data.type === 'join') client = this.#join(port, data);
      else if (client && this.#clients.has(client)) this.#onMessage(client, data);
    };
    post(port, { type: 'hello', lock: this.#options.lock });
  }

  #join(port: MessagePort, join: Join): Client | undefined {
    if (this.#clients.size === 0) {
      this.#optionsKey = join.optionsKey;
      this.#place = undefined;
    }
    if (this.#optionsKey !== join.optionsKey) {
      post(port, { type: 'refused', why: 'the engine of this name was created with other options' });
      return undefined;
    }
    const client: Client = { port, lock: join.lock, page: join.page, gone: new AbortController(), waits: false };
    this.#clients.add(client);
    whenDead(join.lock, client.gone.signal, () => this.#leave(client));
    post(port, { type: 'joined' });
    if (join.place) this.#place ??= join.place;
    void this.#choose(join);
    return client;
  }

  async #choose(join: Join): Promise<void> {
    const place = this.#place ?? (await this.#options.choosePlace(join).catch(() => 'tab' as const));
    this.#place ??= place;
    this.#connectWaiting();
  }

  #onMessage(client: Client, message: Exclude<ToSwitchboard, { type: 'join' }>): void {
    switch (message.type) {
      case 'attach':
        client.waits = true;
        if (message.lost !== undefined) this.#lose(message.lost);
        this.#connectWaiting();
        break;
      case 'hosting':
        this.#onHosting(client, message);
        break;
      case 'cannot-host':
        if (this.#asked?.generation !== message.generation) break;
        client.cannotHost = message.why;
        this.#asked = undefined;
        this.#connectWaiting();
        break;
      case 'leave':
        this.#leave(client);
    }
  }

  #onHosting(client: Client, { generation, control, lock }: Extract<ToSwitchboard, { type: 'hosting' }>): void {
    const end = (): void => control.postMessage({ type: 'end' });
    if (this.#asked?.generation !== generation) {
      end(); // too late: it was taken for gone
      return;
    }
    this.#asked = undefined;
    this.#host = {
      generation,
      place: 'tab',
      page: client.page,
      attach: (port, clientLock) => control.postMessage({ type: 'client', port, lock: clientLock }, [port]),
      end,
    };
    whenDead(lock, new AbortController().signal, () => this.#lose(generation));
    this.#connectWaiting();
  }

  /** Gives a port to each client that waits; finds a host first, if there is none. */
  #connectWaiting(): void {
    const waiting = [...this.#clients].filter(({ waits }) => waits);
    if (waiting.length === 0 || this.#place === undefined) return;
    if (!this.#host) this.#findHost();
    const host = this.#host;
    if (!host) return;
    for (const client of waiting) {
      const { port1, port2 } = new MessageChannel();
      client.waits = false;
      host.attach(port1, client.lock);
      const { generation, place } = host;
      post(client.port, { type: 'attached', generation, port: port2, place, isOwn: host.page === client.page }, [
        port2,
      ]);
    }
  }

  #findHost(): void {
    if (this.#place === 'shared-worker') {
      // It lives as long as this thread, and ends its engine with its last client.
      this.#host = {
        generation: ++this.#generation,
        place: 'shared-worker',
        attach: this.#options.serveHere,
        end: noop,
      };
      return;
    }
    if (this.#asked) return;
    const client = [...this.#clients].find(({ cannotHost }) => cannotHost === undefined);
    if (client) {
      this.#asked = { generation: ++this.#generation, client };
      post(client.port, { type: 'host', generation: this.#generation });
      return;
    }
    for (const refused of this.#clients) post(refused.port, { type: 'refused', why: refused.cannotHost ?? '' });
  }

  /** That host is gone. Its clients learn it, and ask anew. */
  #lose(generation: Generation): void {
    if (this.#host?.generation !== generation || this.#host.place === 'shared-worker') return;
    this.#host = undefined;
    for (const { port } of this.#clients) post(port, { type: 'host-gone', generation });
    this.#connectWaiting();
  }

  #leave(client: Client): void {
    if (!this.#clients.delete(client)) return;
    client.gone.abort();
    if (this.#asked?.client === client) this.#asked = undefined;
    if (this.#clients.size > 0) {
      this.#connectWaiting();
      return;
    }
    this.#asked = undefined;
    this.#host?.end();
    this.#host = undefined;
    this.#options.onEmpty();
  }
}

const noop = (): void => undefined;

const post = (port: MessagePort, message: FromSwitchboard, transfer: Transferable[] = []): void =>
  port.postMessage(message, transfer);
