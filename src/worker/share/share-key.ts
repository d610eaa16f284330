import type { LoadOptions } from '../protocol.ts';

/** Options as one string, the same for equal ones in whatever order; a secret that opens a model is no part of what it is. */
export function shareKey({ hub, ...options }: LoadOptions): string {
  return JSON.stringify(plain({ ...options, ...(hub?.baseUrl !== undefined && { hub: hub.baseUrl }) }));
}

/** Keys in order; files by what tells them apart. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof File) return ['file', value.name, value.size, value.lastModified];
  if (value instanceof Blob) return ['blob', value.size, value.type];
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, entry]) => [key, plain(entry)]);
}
