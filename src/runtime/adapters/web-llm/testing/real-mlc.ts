import type { MlcLibrary } from '../library.ts';
import type { WebLlmOptions } from '../load-web-llm.ts';

/** Says which tests are left out, and how to have them. */
export const SKIPPED = 'left out: TOKENGLASS_MLC_MODEL and TOKENGLASS_MLC_LIB are not set';

/** The model that tools/mlc-files.mjs serves, for the real library; nothing where there is none. */
export async function realMlc(): Promise<WebLlmOptions | undefined> {
  const response = await fetch('/mlc/config.json');
  const { hasModel, hasPackage } = (await response.json()) as { hasModel: boolean; hasPackage: boolean };
  if (!hasModel) return undefined;
  const packageUrl = new URL('/mlc/package.js', location.href).href;
  return {
    model: { modelUrl: '/mlc/model/resolve/main/', modelLibUrl: '/mlc/lib.wasm', id: 'real' },
    ...(hasPackage && { library: () => import(packageUrl) as Promise<MlcLibrary> }),
  };
}
