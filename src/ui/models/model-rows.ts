import type { CatalogEntry } from '../../runtime/models/catalog-entries.ts';
import type { StoredModelInfo } from '../../runtime/models/store/model-store.ts';

/** A model that is known, stored, or both. */
export interface ModelRow {
  /** As `createEngine` takes it. */
  model: string;
  title: string;
  /** Absent for what is in the store only. */
  entry?: CatalogEntry;
  /** What of it is stored, in either of its formats; none for one that is not, or is built in. */
  stored: readonly StoredModelInfo[];
}

/** The catalog, with what is stored of each, and then what else is stored, the last used first. */
export function modelRows(catalog: readonly CatalogEntry[], stored: readonly StoredModelInfo[]): ModelRow[] {
  const left = new Set(stored);
  const known = catalog.map((entry): ModelRow => {
    const ids = [entry.hub?.gguf.repository, entry.hub?.onnx.repository];
    const own = stored.filter(({ id }) => ids.includes(id));
    for (const model of own) left.delete(model);
    return { model: entry.name, title: entry.title, entry, stored: own };
  });
  return [...known, ...[...left].map((model) => ({ model: nameOf(model), title: model.id, stored: [model] }))];
}

/** What a stored model was loaded by: a URL, or a repository of the Hub and a file of it. */
function nameOf({ id, files }: StoredModelInfo): string {
  if (/^[a-z]+:/i.test(id)) return id;
  const gguf = files.find(({ path }) => /\.gguf$/i.test(path));
  return gguf ? `hf:${id}/${gguf.path}` : `hf:${id}`;
}

export const bytesOf = (stored: readonly StoredModelInfo[]): number =>
  stored.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
