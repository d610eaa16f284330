const SPLIT = /^(.*)-(\d{5})-of-(\d{5})(\.gguf)$/i;

/**
 * The files of a model that `gguf-split` has cut up (`name-00001-of-00003.gguf`), in order; undefined for a file that is whole.
 * @param path of any of them
 */
export function splitSet(path: string): string[] | undefined {
  const match = SPLIT.exec(path);
  if (!match) return undefined;
  const [, name = '', index = '', count = '', extension = ''] = match;
  const total = Number(count);
  if (total < 1 || Number(index) < 1 || Number(index) > total) return undefined;
  const number = (part: number): string => String(part).padStart(5, '0');
  return Array.from({ length: total }, (_, part) => `${name}-${number(part + 1)}-of-${count}${extension}`);
}
