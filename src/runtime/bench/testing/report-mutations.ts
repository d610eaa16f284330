import type { Schema } from '../check-schema.ts';
import type { Report } from '../report.ts';

/** Every path of the report that leads to a required field. */
export function requiredPaths(schema: Schema, root: Schema, path: (string | number)[] = []): (string | number)[][] {
  const resolved = schema.$ref ? root.$defs![schema.$ref.replace('#/$defs/', '')]! : schema;
  const own = (resolved.required ?? []).map((name) => [...path, name]);
  const inner = Object.entries(resolved.properties ?? {}).flatMap(([name, property]) =>
    requiredPaths(property, root, [...path, name]),
  );
  const items = resolved.items ? requiredPaths(resolved.items, root, [...path, 0]) : [];
  return [...own, ...inner, ...items];
}

/** The report with one field changed, or left out; nothing if it has no such place. */
export function changed(report: Report, path: readonly (string | number)[], value?: unknown): Report | undefined {
  const copy = structuredClone(report);
  let node = copy as unknown as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) {
    if (typeof node[step] !== 'object' || node[step] === null) return undefined;
    node = node[step] as Record<string | number, unknown>;
  }
  const last = path.at(-1)!;
  if (!(last in node)) return undefined;
  if (value === undefined) Reflect.deleteProperty(node, last);
  else node[last] = value;
  return copy;
}
