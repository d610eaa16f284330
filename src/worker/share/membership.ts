import { randomId } from '../../shared/random-id.ts';
import { TokenglassError } from '../../shared/errors.ts';
import { holdLock, whenDead } from '../alive.ts';
import {
  connectLockOf,
  type FromSwitchboard,
  type Generation,
  type SharePlace,
  type ToSwitchboard,
} from './protocol.ts';

/** How the threads are started: see `locate.ts`. */
export interface ShareWorkers {
  connect: (name: string) => SharedWorker;
  startHost: () => Worker;
}

export interface MembershipOptions {
  /** Of the SharedWorker: those who give the same one meet there. */
  name: string;
  join: Pick<Extract<ToSwitchboard, { type: 'join' }>, 'optionsKey' | 'place' | 'engine' | 'hasThreads'>;
  workers: ShareWorkers;
  /** A host is gone that this client may be attached to; undefined: whichever it is, because the SharedWorker is. */
  onHostGone: (generation: Generation | undefined) => void;
}

/** A port to the engine, and where that runs. */
export interface Attachment {
  port: MessagePort;
  generation: Generation;
  place: SharePlace;
  /** It runs in a worker of this page. */
  isOwn: boolean;
}

/** Names this page. */
let page: string | undefined;

/** The SharedWorker has died; whoever waits for an answer of it asks the next one. */
class SwitchboardGone extends Error {}

interface Connection {
  port: MessagePort;
  /** Aborted when the SharedWorker is gone. */
  gone: AbortController;
}

/** This page's connection to the switchboard: asks it for ports to the engine, and hosts the engine when told to. */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #lock = `tokenglass-client-${randomId()}`;
  readonly #left = new AbortController();
  #releaseLock: Promise<() => void> | undefined;
  #connection: Promise<Connection> | undefined;
  /** A worker of this page that is about to host. */
  #starting: Worker | undefined;
  #onAnswer: ((answer: Extract<FromSwitchboard, { type: 'attached' | 'refused' }>) => void) | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /**
   * A port to the engine. One call at a time.
   * @param lost the host whose death was noticed
   * @throws TokenglassError `invalid-request`, `worker-dead`
   */
  async attach(lost?: Generation): Promise<Attachment> {
    for (;;) {
      const connection = await (this.#connection ??= this.#connect());
      try {
        return await this.#ask(connection, lost);
      } catch (error) {
        if (!(error instanceof SwitchboardGone)) throw error;
        lost = undefined;
      }
    }
  }

  /** Ends the membership. The engine goes on for the others, also in a worker of this page. */
  leave(): void {
    if (this.#left.signal.aborted) return;
    this.#left.abort();
    this.#starting?.terminate();
    void this.#connection
      ?.then(({ port, gone }) => {
        send(port, { type: 'leave' });
        port.onmessage = null;
        gone.abort();
      })
      .catch(() => undefined);
    void this.#releaseLock?.then((release) => release());
  }

  async #connect(): Promise<Connection> {
    const { name, workers, join } = this.#options;
    this.#releaseLock ??= holdLock(this.#lock);
    await this.#releaseLock;
    // The SharedWorker may close itself, but not while this is held.
    return navigator.locks
      .request(connectLockOf(name), { mode: 'shared' }, async () => {
        const worker = workers.connect(name);
        const gone = new AbortController();
        const { port } = worker;
        const joined = new Promise<void>((resolve, reject) => {
          const fail = (why: string): void =>
            reject(new TokenglassError('worker-dead', `Cannot share an engine: ${why}; create it without share`));
          worker.addEventListener('error', () => fail('the script of the SharedWorker could not be run'));
          port.onmessage = ({ data }: MessageEvent<FromSwitchboard>) => {
            if (data.type === 'hello') whenDead(data.lock, this.#left.signal, () => this.#onGone(gone));
            else if (data.type === 'joined') resolve();
            else if (data.type === 'refused') reject(refusal(data.why));
            else this.#onMessage(port, data);
          };
        });
        send(port, { type: 'join', lock: this.#lock, page: (page ??= randomId()), ...join });
        await joined;
        return { port, gone };
      })
      .catch((error: unknown) => {
        this.#connection = undefined;
        throw error;
      });
  }

  #onGone(gone: AbortController): void {
    this.#connection = undefined;
    gone.abort();
    this.#options.onHostGone(undefined);
  }

  #ask({ port, gone }: Connection, lost: Generation | undefined): Promise<Attachment> {
    return new Promise<Attachment>((resolve, reject) => {
      const onGone = (): void => reject(new SwitchboardGone());
      if (gone.signal.aborted) onGone();
      gone.signal.addEventListener('abort', onGone, { once: true });
      this.#onAnswer = (answer) => {
        gone.signal.removeEventListener('abort', onGone);
        if (answer.type === 'attached') resolve(answer);
        else reject(refusal(answer.why));
      };
      send(port, { type: 'attach', ...(lost !== undefined && { lost }) });
    }).finally(() => (this.#onAnswer = undefined));
  }

  #onMessage(port: MessagePort, message: FromSwitchboard): void {
    if (message.type === 'attached' || message.type === 'refused') this.#onAnswer?.(message);
    else if (message.type === 'host-gone') this.#options.onHostGone(message.generation);
    else if (message.type === 'host') this.#host(port, message.generation);
  }

  #host(port: MessagePort, generation: Generation): void {
    const lock = `tokenglass-host-${randomId()}`;
    const refuse = (why: string): void => send(port, { type: 'cannot-host', generation, why });
    let worker: Worker;
    try {
      worker = this.#options.workers.startHost();
    } catch (cause) {
      refuse(cause instanceof Error ? cause.message : String(cause));
      return;
    }
    this.#starting = worker;
    const { port1, port2 } = new MessageChannel();
    worker.onmessage = () => {
      this.#starting = undefined;
      send(port, { type: 'hosting', generation, control: port2, lock }, [port2]);
    };
    // Its lock is let go of with it, which tells everyone.
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      if (this.#starting === worker) refuse(event.message || 'its worker could not be started');
      this.#starting = undefined;
    };
    worker.postMessage({ control: port1, lock }, [port1]);
  }
}

const send = (port: MessagePort, message: ToSwitchboard, transfer: Transferable[] = []): void =>
  port.postMessage(message, transfer);

const refusal = (why: string): TokenglassError =>
  new TokenglassError('invalid-request', `Cannot share an engine: ${why}; give share another name`, {
    details: { field: 'share' },
  });
