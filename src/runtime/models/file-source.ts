import { abortError, TokenglassError } from '../../shared/errors.ts';
import { findPath } from './find-path.ts';
import type { ModelSource } from './source.ts';

/** A file, and where it lies in the folder that was chosen. */
export interface NamedFile {
  path: string;
  file: File;
}

export interface FileSource extends ModelSource {
  readonly kind: 'file';
  readonly paths: readonly string[];
}

/**
 * Files that a person has chosen or dropped: one `.gguf` file, or the files of a folder (`<input webkitdirectory>`, or {@link collectFiles}).
 * They are read where they lie, and stored nowhere. The name of a folder that all have in common is left out of their paths.
 *
 * @throws TypeError if there are none
 */
export function createFileSource(files: readonly (File | NamedFile)[]): FileSource {
  if (files.length === 0) throw new TypeError('Cannot make a source of no files: give at least one');
  const named = files.map((each) =>
    each instanceof File ? { path: each.webkitRelativePath || each.name, file: each } : each,
  );
  const folder = commonFolder(named.map(({ path }) => path));
  const byPath = new Map(named.map(({ path, file }) => [path.slice(folder.length), file]));
  const paths = [...byPath.keys()];
  const id = folder.replace(/\/$/, '') || paths.find((path) => /\.gguf$/i.test(path)) || paths[0]!;
  return {
    id,
    kind: 'file',
    paths,
    // eslint-disable-next-line @typescript-eslint/require-await -- async, so that an unknown path rejects
    async open(path, { start = 0, end, signal } = {}) {
      if (signal?.aborted) throw abortError(signal);
      const file = byPath.get(findPath(paths, path, id))!;
      const stream = file.slice(start, end ?? file.size).stream();
      return { totalBytes: file.size, stream: readable(stream, path, signal) };
    },
  };
}

/**
 * All files in what was dropped or chosen: entries of the File System API (`DataTransferItem.getAsFileSystemHandle`, `showDirectoryPicker`), or of
 * the older one (`DataTransferItem.webkitGetAsEntry`), folders with what is in them.
 */
export async function collectFiles(entries: Iterable<FileSystemHandle | FileSystemEntry>): Promise<NamedFile[]> {
  const found: NamedFile[] = [];
  for (const entry of entries) await collect(entry, '', found);
  return found;
}

async function collect(entry: FileSystemHandle | FileSystemEntry, folder: string, found: NamedFile[]): Promise<void> {
  const path = folder + entry.name;
  if ('kind' in entry) {
    if (entry.kind === 'file') found.push({ path, file: await (entry as FileSystemFileHandle).getFile() });
    else for await (const inner of values(entry as FileSystemDirectoryHandle)) await collect(inner, `${path}/`, found);
  } else if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path, file });
  } else {
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      // A reader gives a hundred at a time, and none at the end.
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (some.length === 0) return;
      for (const inner of some) await collect(inner, `${path}/`, found);
    }
  }
}

/** Async iteration of a directory, which the types of the DOM leave out. */
const values = (directory: FileSystemDirectoryHandle): AsyncIterable<FileSystemHandle> =>
  (directory as unknown as { values(): AsyncIterable<FileSystemHandle> }).values();

function commonFolder(paths: readonly string[]): string {
  const folder = /^[^/]+\//.exec(paths[0]!)?.[0] ?? '';
  return folder !== '' && paths.every((path) => path.startsWith(folder)) ? folder : '';
}

/** A file that was moved or changed since it was chosen can no longer be read. */
function readable(
  stream: ReadableStream<Uint8Array>,
  path: string,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (signal?.aborted) {
          await reader.cancel();
          throw abortError(signal);
        }
        const { done, value } = await reader.read().catch((cause: unknown) => {
          const message = `Cannot read ${path}: the file was moved or changed since it was chosen; choose it again`;
          throw new TokenglassError('model-not-found', message, { cause, details: { path } });
        });
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
