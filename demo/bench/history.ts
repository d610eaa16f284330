import { createStore, del, entries, set, type UseStore } from 'idb-keyval';
import { reportProblems } from '../../src/runtime/bench/load-report.ts';
import type { Report } from '../../src/runtime/bench/report.ts';

/** A report that is kept on this device. */
export interface KeptReport {
  id: string;
  report: Report;
}

/** A number of reports after which the oldest goes: raw samples are some 100 kB each. */
const MOST_KEPT = 100;

/** Reports of this device, in IndexedDB; where that is refused (some private windows), of this visit. */
export class ReportHistory {
  readonly #store: UseStore | undefined;
  #kept: KeptReport[] = [];

  constructor() {
    try {
      this.#store = createStore('tokenglass-bench', 'reports');
    } catch {
      this.#store = undefined;
    }
  }

  /** Newest first. */
  get all(): readonly KeptReport[] {
    return this.#kept;
  }

  /** Reads what is there; what is no valid report of this version is left alone and not shown. */
  async load(): Promise<void> {
    if (!this.#store) return;
    const found = await entries<string, unknown>(this.#store).catch(() => []);
    this.#kept = found
      .flatMap(([id, value]) => (reportProblems(value).length === 0 ? [{ id, report: value as Report }] : []))
      .sort((a, b) => b.report.createdAt.localeCompare(a.report.createdAt));
  }

  /** @returns why it could not be kept; nothing if it was */
  async add(report: Report): Promise<string | undefined> {
    const id = `${report.createdAt} ${crypto.randomUUID()}`;
    this.#kept = [{ id, report }, ...this.#kept];
    for (const { id: old } of this.#kept.slice(MOST_KEPT)) await this.remove(old);
    if (!this.#store) return 'this browser keeps nothing here';
    try {
      await set(id, report, this.#store);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  async remove(id: string): Promise<void> {
    this.#kept = this.#kept.filter((kept) => kept.id !== id);
    if (this.#store) await del(id, this.#store).catch(() => undefined);
  }
}
