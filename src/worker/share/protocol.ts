/** What clients of a shared engine, the switchboard between them (a SharedWorker) and the thread that hosts the engine say to each other. */

/** Where the engine runs: in the SharedWorker itself, or in a worker of one of the tabs. */
export type SharePlace = 'shared-worker' | 'tab';

/** Numbers hosts, one after the other. */
export type Generation = number;

/** Client to switchboard. */
export type ToSwitchboard =
  | {
      /** The first message. */
      type: 'join';
      /** A Web Lock that the client holds for as long as it lives. */
      lock: string;
      /** The same for all clients of a page. */
      page: string;
      /** Options of the engine as one string: equal ones may share. */
      optionsKey: string;
      /** @default chosen */
      place?: SharePlace;
      /** What the choice of the place depends on. */
      engine: string;
      /** A worker of the client's page would run WASM on several threads. */
      hasThreads: boolean;
    }
  /** Asks for a port to the engine; `lost` is the host whose death the client has noticed. */
  | { type: 'attach'; lost?: Generation }
  /** Answers `host`: a worker has been started, which listens on the other side of `control`, and holds `lock` while it lives. */
  | { type: 'hosting'; generation: Generation; control: MessagePort; lock: string }
  /** Answers `host`, too. */
  | { type: 'cannot-host'; generation: Generation; why: string }
  /** The last message. */
  | { type: 'leave' };

/** Switchboard to client. */
export type FromSwitchboard =
  /** The first message. `lock` is held by the switchboard for as long as it lives. */
  | { type: 'hello'; lock: string }
  /** Answers `join`: from now on this client counts. */
  | { type: 'joined' }
  /** It cannot be shared: the engine of this name has other options, or nobody can host one. */
  | { type: 'refused'; why: string }
  /** Start a worker that hosts the engine. */
  | { type: 'host'; generation: Generation }
  /** A port to the engine, which speaks the protocol of any engine in a worker. */
  | { type: 'attached'; generation: Generation; port: MessagePort; place: SharePlace; isOwn: boolean }
  /** That host is gone, and with it what was attached to it. */
  | { type: 'host-gone'; generation: Generation };

/** Switchboard to the hosting thread. */
export type ToHostThread =
  /** Another client, and the lock that it holds. */
  | { type: 'client'; port: MessagePort; lock: string }
  /** Nobody is left. */
  | { type: 'end' };

/** Page to the worker that is to host: the first message. */
export interface HostStart {
  control: MessagePort;
  /** To be held from now on. */
  lock: string;
}

/** Pages hold this lock, shared, while they connect to the SharedWorker of that name; it closes only while it has it alone. */
export const connectLockOf = (name: string): string => `tokenglass-connect-${name}`;
