// What `--model` names: the built-in model, a URL, or a file or folder on this machine, which the tool's own server then offers.
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';

const PREFIX = '/local-model/';

/** @returns {{ mounts: Record<string, string>, url(serverUrl: string): string }} */
export function resolveModelArgument(argument) {
  if (argument === 'tutor' || /^https?:\/\//.test(argument)) return { mounts: {}, url: () => argument };
  const path = resolve(argument);
  if (!existsSync(path))
    throw new Error(`Cannot load the model "${argument}": it is neither tutor nor a URL, and there is no such path`);
  const isFolder = statSync(path).isDirectory();
  const offered = isFolder ? '' : encodeURIComponent(basename(path));
  return {
    mounts: { [PREFIX]: isFolder ? path : dirname(path) },
    url: (serverUrl) => new URL(PREFIX.slice(1) + offered, serverUrl).href,
  };
}
