// What `npm pack` ships is what a user needs, and every entry point imports in Node (a server-rendered page does that).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
let folder;
let files;

describe('npm pack', () => {
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tokenglass-pack-'));
    const packed = execFileSync(npm, ['pack', '--json', '--pack-destination', folder], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const json = JSON.parse(packed.slice(packed.search(/^[[{]/m)));
    const [entry] = Array.isArray(json) ? json : Object.values(json);
    files = entry.files.map(({ path }) => path);
    execFileSync('tar', ['-xzf', join(folder, entry.filename.split('/').at(-1)), '-C', folder]);
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'junction');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('package: holds the library, its types, the model and the licence, and nothing else', () => {
    for (const needed of [
      'package.json',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'dist/index.js',
      'dist/index.d.ts',
      'models/tutor/README.md',
    ])
      assert.ok(files.includes(needed), `${needed} is missing`);
    const strays = files.filter(
      (path) =>
        !/^(dist|models\/tutor)\//.test(path) && !/^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/.test(path),
    );
    assert.deepEqual(strays, []);
    assert.deepEqual(
      files.filter((path) => /\.test\.|\/testing\//.test(path)),
      [],
      'tests are shipped',
    );
  });

  it('package: every export resolves to a shipped file, with types', () => {
    const { exports } = JSON.parse(readFileSync(join(folder, 'package', 'package.json'), 'utf8'));
    for (const [name, target] of Object.entries(exports)) {
      if (name.includes('*')) continue;
      for (const path of typeof target === 'string' ? [target] : Object.values(target))
        assert.ok(existsSync(join(folder, 'package', path)), `${name} -> ${path}`);
    }
  });

  it('package: every entry point imports in Node without throwing', () => {
    for (const entry of ['index.js', 'ui/index.js', 'runtime/metrics/index.js']) {
      const url = new URL(`file://${join(folder, 'package', 'dist', entry)}`).href;
      execFileSync(process.execPath, ['--input-type=module', '-e', `await import(${JSON.stringify(url)})`], {
        cwd: folder,
        stdio: 'pipe',
      });
    }
  });

  it('package: no file names a path or host of the machine it was made on', () => {
    const home = resolve('.');
    for (const path of files.filter((name) => /\.(js|ts|json|md|map)$/.test(name)))
      assert.ok(!readFileSync(join(folder, 'package', path), 'utf8').includes(home), path);
  });
});
