// Builds the page of testhost into testhost/out: Grafana's libraries as they are
// on npm, and the loader that Grafana's page has.
import { build } from 'esbuild';
import { cp, mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const out = join(root, 'testhost/out');
const system = dirname(createRequire(import.meta.url).resolve('systemjs/dist/system.min.js'));

await mkdir(out, { recursive: true });
await build({
  absWorkingDir: root,
  entryPoints: ['testhost/page.tsx'],
  bundle: true,
  format: 'iife',
  platform: 'browser',
  target: 'es2022',
  jsx: 'transform',
  outfile: join(out, 'page.js'),
  define: { 'process.env.NODE_ENV': '"production"', global: 'window', define: 'undefined' }, // the loader's define is not for lodash
  loader: { '.svg': 'dataurl', '.png': 'dataurl', '.woff2': 'dataurl', '.ttf': 'empty', '.css': 'empty' },
  legalComments: 'none',
  logLevel: 'error',
});
await cp(join(root, 'node_modules/@grafana/ui/dist/public/img/icons'), join(out, 'public/build/img/icons'), { recursive: true });
await cp(join(root, 'testhost/page.html'), join(out, 'index.html'));
await cp(join(system, 'system.min.js'), join(out, 'system.js'));
await cp(join(system, 'extras/amd.min.js'), join(out, 'amd.js'));
