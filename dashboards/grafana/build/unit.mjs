// Runs the tests beside the sources that need neither a browser nor Grafana.
import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tests = (await readdir(join(root, 'src'))).filter((name) => name.endsWith('.test.ts'));
const out = await mkdtemp(join(tmpdir(), 'quintet-unit-'));
await build({ absWorkingDir: root, entryPoints: tests.map((t) => `src/${t}`), bundle: true, platform: 'node', format: 'esm', outdir: out, outExtension: { '.js': '.mjs' } });
const { status } = spawnSync(process.execPath, ['--test', ...tests.map((t) => join(out, t.replace(/\.ts$/, '.mjs')))], { stdio: 'inherit' });
await rm(out, { recursive: true });
process.exit(status ?? 1);
