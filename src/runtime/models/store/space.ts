/** Room for new data of this origin. */
export interface Space {
  /** Bytes that can still be written; undefined where the browser does not say. */
  availableBytes(): Promise<number | undefined>;
  /** False in a worker, which cannot ask. */
  readonly canPersist: boolean;
  /** Asks the browser not to clear this origin's data by itself; without effect where {@link Space.canPersist} is false. */
  persist(): Promise<void>;
}

/** @param storage `navigator.storage`; absent in insecure contexts */
export function createSpace(storage: Partial<StorageManager> | undefined): Space {
  return {
    canPersist: storage?.persist !== undefined,
    async availableBytes() {
      try {
        const { quota, usage } = (await storage?.estimate?.()) ?? {};
        return quota === undefined || usage === undefined ? undefined : Math.max(0, quota - usage);
      } catch {
        return undefined;
      }
    },
    async persist() {
      if ((await storage?.persisted?.().catch(() => true)) === true) return;
      await storage?.persist?.().catch(() => false);
    },
  };
}
