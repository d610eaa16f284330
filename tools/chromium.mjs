// Where Chromium is, and the flags it is started with. Dependency-free.
import { existsSync } from 'node:fs';
import { execFileSync, spawnSync } from 'node:child_process';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome'];
const MAC_PATHS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];
const WINDOWS_PATHS = ['PROGRAMFILES', 'PROGRAMFILES(X86)', 'LOCALAPPDATA']
  .map((name) => process.env[name])
  .filter(Boolean)
  .map((root) => `${root}\\Google\\Chrome\\Application\\chrome.exe`);

/** Flags without WebGPU: quiet, and no connection to anywhere. */
export const BASE_FLAGS = [
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-features=Translate,OptimizationHints,MediaRouter',
];

/** WebGPU on SwiftShader, the software adapter: correct on every machine, slow on all. */
export const SOFTWARE_WEBGPU_FLAGS = [
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
  '--enable-unsafe-swiftshader',
];

const which = (name) => {
  const found = spawnSync(process.platform === 'win32' ? 'where' : 'which', [name], { encoding: 'utf8' });
  return found.status === 0 ? found.stdout.split('\n')[0].trim() : undefined;
};

/** Path of a Chromium or Chrome: CHROME_PATH, else an installed one; undefined if there is none. */
export function findChromium() {
  if (process.env.CHROME_PATH) {
    if (existsSync(process.env.CHROME_PATH)) return process.env.CHROME_PATH;
    throw new Error(`Cannot start Chromium: CHROME_PATH is ${process.env.CHROME_PATH}, which does not exist`);
  }
  for (const path of [...MAC_PATHS, ...WINDOWS_PATHS]) if (existsSync(path)) return path;
  for (const name of NAMES) {
    const path = which(name);
    if (path) return path;
  }
  return undefined;
}

/** As {@link findChromium}, but installs Debian's package where that is possible, and else says what to do. */
export function ensureChromium() {
  const found = findChromium();
  if (found) return found;
  if (existsSync('/etc/debian_version') && process.getuid?.() === 0) {
    console.error('No Chromium found; installing the Debian package (apt-get install chromium) ...');
    execFileSync('apt-get', ['update', '-qq'], { stdio: ['ignore', 'ignore', 'inherit'] });
    execFileSync('apt-get', ['install', '-y', '-qq', 'chromium'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    const installed = findChromium();
    if (installed) return installed;
  }
  throw new Error(
    'Cannot run a browser: no Chromium or Chrome was found; install one, or set CHROME_PATH to its binary',
  );
}
