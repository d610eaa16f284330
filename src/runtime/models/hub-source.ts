import { isTokenglassError, TokenglassError } from '../../shared/errors.ts';
import { findPath } from './find-path.ts';
import { readOpened } from './read-file.ts';
import type { ModelSource, OpenedFile, OpenOptions } from './source.ts';
import { fetchFile } from './url-source.ts';

export interface HubSourceOptions {
  /** Branch, tag or commit. @default 'main' */
  revision?: string;
  /** A mirror of the Hub. @default 'https://huggingface.co' */
  baseUrl?: string;
  /** Access token for private and gated models. It is sent to `baseUrl`, and neither stored nor shown. */
  token?: string;
  /** @default the global `fetch` */
  fetch?: typeof globalThis.fetch;
}

/** A file of a repository, as the Hub lists it. */
export interface HubFile {
  path: string;
  sizeBytes: number;
  /** Absent for small files, which are not in LFS. */
  sha256?: string;
}

export interface HubSource extends ModelSource {
  readonly kind: 'hub';
  readonly revision: string;
  /** All files of the repository; asked for once. @throws TokenglassError `model-not-found`, `network` */
  files(signal?: AbortSignal): Promise<readonly HubFile[]>;
}

/** A Hub id is at most owner and name; more than this many pages are no model. */
const MAX_PAGES = 50;

interface Listing {
  files: readonly HubFile[];
  /** Commit of the listing: files are taken from it, so that an update in between does not mix two versions. */
  commit?: string;
}

/**
 * A repository of the Hugging Face Hub, or of a mirror. The listing of the repository gives size and SHA-256 of each file; `open` also takes a
 * pattern (`*Q4_K_M.gguf`) that means one file.
 *
 * @param id `owner/name`
 * @throws TypeError if `id` is not one
 */
export function createHubSource(id: string, options: HubSourceOptions = {}): HubSource {
  if (!isHubId(id)) throw new TypeError(`Cannot make a Hub source of "${id}": give the id as owner/name`);
  const { revision = 'main', baseUrl = 'https://huggingface.co', token } = options;
  const base = new URL(baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`);
  const request = {
    ...(options.fetch && { fetch: options.fetch }),
    ...(token !== undefined && { headers: { Authorization: `Bearer ${token}` } }),
  };

  let listing: Promise<Listing> | undefined;
  const list = async (signal?: AbortSignal): Promise<Listing> => {
    const url = new URL(`api/models/${id}/tree/${encodeURIComponent(revision)}?recursive=true`, base);
    listing ??= fetchListing(url, request, signal);
    const current = listing;
    try {
      return await current;
    } catch (error) {
      // A failure is not kept: the next call asks again.
      if (listing === current) listing = undefined;
      throw explain(error, id);
    }
  };

  return {
    id,
    kind: 'hub',
    revision,
    files: async (signal) => (await list(signal)).files,
    async open(path, open = {}) {
      const { files, commit } = await list(open.signal);
      const names = files.map((file) => file.path);
      const found = files.find((file) => file.path === findPath(names, path, id))!;
      const at = encodeURIComponent(commit ?? revision);
      const url = new URL(`${id}/resolve/${at}/${found.path.split('/').map(encodeURIComponent).join('/')}`, base);
      try {
        const opened = await fetchFile(url, open, request);
        return { ...opened, totalBytes: found.sizeBytes, ...(found.sha256 !== undefined && { sha256: found.sha256 }) };
      } catch (error) {
        throw explain(error, id);
      }
    },
  };
}

/** True for `owner/name`. */
export function isHubId(text: string): boolean {
  return /^[\w.-]+\/[\w.-]+$/.test(text) && !text.includes('..');
}

async function fetchListing(
  first: URL,
  request: Parameters<typeof fetchFile>[2],
  signal: AbortSignal | undefined,
): Promise<Listing> {
  const files: HubFile[] = [];
  let commit: string | undefined;
  let url: URL | undefined = first;
  // Headers that are not of a file: the listing's next page and its commit.
  const fetchFunction = request?.fetch ?? globalThis.fetch.bind(globalThis);
  for (let page = 0; url && page < MAX_PAGES; page++) {
    let headers: Headers | undefined;
    const spy: typeof fetch = async (input, init) => {
      const response = await fetchFunction(input, init);
      ({ headers } = response);
      return response;
    };
    const open: OpenOptions = signal ? { signal } : {};
    const opened: OpenedFile = await fetchFile(url, open, { ...request, fetch: spy });
    const text = new TextDecoder().decode(await readOpened(opened, url.pathname, open));
    files.push(...parseListing(text, url));
    commit ??= headers?.get('X-Repo-Commit') ?? undefined;
    url = nextPage(headers?.get('Link') ?? '', url);
  }
  return { files, ...(commit !== undefined && { commit }) };
}

function parseListing(text: string, url: URL): HubFile[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    entries = undefined;
  }
  if (!Array.isArray(entries)) {
    const message = `Cannot list the files of ${url.href}: the answer is not a listing of the Hub; check the base URL`;
    throw new TokenglassError('network', message, { details: { url: url.href, status: 200 } });
  }
  return entries.flatMap((entry: Record<string, unknown> | null) => {
    const { type, path, size, lfs } = entry ?? {};
    if (type !== 'file' || typeof path !== 'string' || typeof size !== 'number') return [];
    const { oid } = (lfs ?? {}) as { oid?: unknown };
    const isDigest = typeof oid === 'string' && /^[0-9a-f]{64}$/.test(oid);
    return [{ path, sizeBytes: size, ...(isDigest && { sha256: oid }) }];
  });
}

/** `Link: <https://...>; rel="next"`; another origin would get the token. */
function nextPage(link: string, current: URL): URL | undefined {
  const target = /<([^>]+)>\s*;\s*rel="?next"?/.exec(link)?.[1];
  if (target === undefined || !URL.canParse(target, current)) return undefined;
  const next = new URL(target, current);
  return next.origin === current.origin ? next : undefined;
}

/** The Hub says 401 for a model that does not exist, lest private names can be guessed. */
function explain(error: unknown, id: string): unknown {
  if (!isTokenglassError(error)) return error;
  const { status } = error.details as { status?: number };
  if (status !== 401 && status !== 403) return error;
  const message = `Cannot load ${id}: the Hub has no such model, or does not give it to everybody; check the name, or give an access token`;
  return new TokenglassError('model-not-found', message, { cause: error, details: { model: id, status } });
}
