import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Every file below `folder`, with `/` in its path. */
export function listFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name).replaceAll('\\', '/');
    return entry.isDirectory() ? listFiles(path) : [path];
  });
}
