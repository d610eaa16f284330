/**
 * Parts of the library that are fetched when they are used: files of the built-in model, the grammar library, builds of onnxruntime-web.
 * The page works out their URLs, since a worker that is one file finds nothing by itself, and a bundler may have given them other names.
 */
export type PartName = 'grammar' | 'onnx' | `ort/${'wasm' | 'jspi' | 'asyncify'}.${'js' | 'wasm'}` | `tutor/${string}`;

export type PartUrls = Readonly<Partial<Record<PartName, string>>>;

let known: PartUrls = {};

/** Takes up URLs, which hold for all that is loaded in this thread from now on. */
export function addPartUrls(urls: PartUrls): void {
  known = { ...known, ...urls };
}

/** The URL of a part; undefined where the page has told none. */
export const partUrl = (name: PartName): string | undefined => known[name];

/** All that are known here, to be told to a worker. */
export const partUrls = (): PartUrls => known;
