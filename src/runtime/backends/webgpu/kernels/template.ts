import type { GpuAbilities } from '../device.ts';

/** Values that a template takes; numbers and booleans also become WGSL constants of the same name. */
export type TemplateValues = Readonly<Record<string, number | boolean>>;

/**
 * Composes a shader from `.wgsl` files. Values become `const` declarations, and lines that begin with these directives are
 * carried out, so that the driver gets straight code without branches on constants:
 *
 * - `//#if NAME`, `//#if !NAME`, `//#else`, `//#endif`: by the truth of a value (a number other than 0 is true);
 * - `//#unroll v COUNT` ... `//#endunroll`: repeats the lines with `$v` replaced by 0 .. COUNT-1 (a value's name or a number),
 *   and `$(v+NAME)` by that plus a value;
 * - `//#repeat v COUNT` ... `//#endrepeat`: a loop over the u32 `v`; with the value UNROLL straight code instead, for drivers that
 *   are fast to compile and slow to unroll. (SwiftShader takes a second for a kernel of a few hundred lines.)
 *
 * @throws RangeError for an unknown name or a directive that is not closed
 */
export function composeShader(values: TemplateValues, ...files: readonly string[]): string {
  const head: string[] = [];
  if (values['SUBGROUPS'] === true) head.push('enable subgroups;');
  if (values['HALF'] === true) head.push('enable f16;');
  for (const [name, value] of Object.entries(values)) head.push(`const ${name} = ${literal(value)};`);
  const lines = files.join('\n').split('\n');
  return [...head, ...expand(lines, values)].join('\n');
}

function literal(value: number | boolean): string {
  if (typeof value === 'boolean' || Number.isInteger(value)) return String(value);
  return value.toExponential(9);
}

function expand(lines: readonly string[], values: TemplateValues): string[] {
  const out: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const [directive, ...args] = line.trim().split(/\s+/);
    if (directive === '//#if') {
      const end = blockEnd(lines, at);
      const negate = args[0]!.startsWith('!');
      const taken = Boolean(lookUp(values, negate ? args[0]!.slice(1) : args[0]!)) !== negate;
      const middle = elseOf(lines, at, end);
      out.push(...expand(taken ? lines.slice(at + 1, middle) : lines.slice(middle + 1, end), values));
      at = end;
    } else if (directive === '//#unroll' || directive === '//#repeat') {
      const end = blockEnd(lines, at);
      const [name, limit] = [args[0]!, args[1]!];
      const count = /^\d+$/.test(limit) ? Number(limit) : Number(lookUp(values, limit));
      const body = expand(lines.slice(at + 1, end), values);
      if (directive === '//#unroll') {
        for (let i = 0; i < count; i++) out.push(...body.map((inner) => substitute(inner, name, i, values)));
      } else if (lookUp(values, 'UNROLL')) {
        for (let i = 0; i < count; i++) out.push(`{ const ${name} = ${i}u;`, ...body, '}');
      } else out.push(`for (var ${name} = 0u; ${name} < ${count}u; ${name}++) {`, ...body, '}');
      at = end;
    } else out.push(line);
  }
  return out;
}

function substitute(line: string, name: string, i: number, values: TemplateValues): string {
  const sums = new RegExp(`\\$\\(${name}\\+(\\w+)\\)`, 'g');
  return line
    .replace(sums, (_, added: string) => String(i + Number(lookUp(values, added))))
    .replaceAll(`$${name}`, String(i));
}

/** Index of the line that closes the block opened at `start`. */
function blockEnd(lines: readonly string[], start: number): number {
  let depth = 0;
  for (let at = start; at < lines.length; at++) {
    const directive = lines[at]!.trim();
    if (/^\/\/#(if|unroll|repeat)\b/.test(directive)) depth += 1;
    else if (/^\/\/#(endif|endunroll|endrepeat)\b/.test(directive)) depth -= 1;
    if (depth === 0) return at;
  }
  throw new RangeError(`Cannot compose the shader: "${lines[start]!.trim()}" is not closed`);
}

/** Index of the `//#else` of the block, or its end. */
function elseOf(lines: readonly string[], start: number, end: number): number {
  let depth = 0;
  for (let at = start + 1; at < end; at++) {
    const directive = lines[at]!.trim();
    if (/^\/\/#(if|unroll|repeat)\b/.test(directive)) depth += 1;
    else if (/^\/\/#(endif|endunroll|endrepeat)\b/.test(directive)) depth -= 1;
    else if (depth === 0 && directive === '//#else') return at;
  }
  return end;
}

function lookUp(values: TemplateValues, name: string): number | boolean {
  const value = values[name];
  if (value === undefined) throw new RangeError(`Cannot compose the shader: it needs a value of ${name}`);
  return value;
}

/** What a device can do, as template values. */
export function abilityValues(abilities: GpuAbilities): TemplateValues {
  return {
    SUBGROUPS: abilities.subgroups !== undefined,
    PACKED_4X8: abilities.packed4x8,
    UNROLL: abilities.unroll,
  };
}
