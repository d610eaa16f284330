// Runs one command to its end: with a process group of its own, so that browsers it started end with it, and with a limit.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Time for one check or one group of tests: far more than any takes, so that a hang is a failure with a name. */
const LIMIT_MS = 35 * 60_000;

/** The path of a program that a package brings, run by this very Node. */
export const nodeProgram = (path) => [process.execPath, `node_modules/${path}`];

const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    for (const child of running) endGroup(child);
    process.exit(130);
  });

function endGroup(child) {
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL');
  } catch {
    // The process has ended.
  }
}

/**
 * Resolves to whether the command ended well, and to what it printed where `quiet` keeps that back.
 *
 * @param {readonly string[]} command
 * @param {{ env?: Record<string, string>, quiet?: boolean }} [options]
 */
export async function runCommand([command, ...args], { env = {}, quiet = false } = {}) {
  const child = spawn(command, args, {
    stdio: ['ignore', quiet ? 'pipe' : 'inherit', quiet ? 'pipe' : 'inherit'],
    env: { ...process.env, ...env },
    detached: process.platform !== 'win32',
  });
  running.add(child);
  const output = [];
  child.stdout?.on('data', (piece) => output.push(piece));
  child.stderr?.on('data', (piece) => output.push(piece));
  const timer = setTimeout(() => {
    output.push(Buffer.from(`\nEnded after ${LIMIT_MS / 60_000} minutes: ${args.join(' ')}\n`));
    if (!quiet) console.error(String(output.at(-1)));
    endGroup(child);
  }, LIMIT_MS);
  const closed = once(child, 'close');
  const [status] = await once(child, 'exit');
  clearTimeout(timer);
  running.delete(child);
  endGroup(child);
  await closed; // the last lines of its output may come after its end
  return { ok: status === 0, output: Buffer.concat(output).toString() };
}
