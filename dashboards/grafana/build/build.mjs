// Builds the front end into dist/: module.js, an AMD module as Grafana's loader
// reads it, and the files beside it. What Grafana brings itself stays outside.
import { build } from 'esbuild';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');

/** What Grafana gives to every plugin. Anything else must be in the bundle. */
export const externals = ['react', 'react-dom', 'rxjs', 'rxjs/operators', 'lodash', '@emotion/css', '@emotion/react', '@grafana/data', '@grafana/runtime', '@grafana/ui'];

const options = {
  absWorkingDir: root,
  entryPoints: ['src/module.ts'],
  bundle: true,
  minify: true,
  sourcemap: true,
  sourcesContent: true,
  format: 'cjs',
  platform: 'browser',
  target: 'es2022',
  jsx: 'transform', // React.createElement: it is the same in React 18 and 19
  external: externals,
  legalComments: 'none',
  metafile: true,
  write: false,
  outfile: 'dist/module.js',
};

/** used lists the externals that the bundle asks for. */
function used(meta) {
  const out = new Set();
  for (const o of Object.values(meta.outputs)) {
    for (const i of o.imports) {
      if (i.external) {
        out.add(i.path);
      }
    }
  }
  return [...out].sort();
}

const first = await build({ ...options, sourcemap: false });
const deps = used(first.metafile);
const names = deps.map((_, i) => `d${i}`);
const given = deps.map((d, i) => `${JSON.stringify(d)}:d${i}`).join(',');
const whole = await build({
  ...options,
  banner: { js: `define(${JSON.stringify(deps)},function(${names.join(',')}){var module={exports:{}},exports=module.exports,require=(function(g){return function(n){return g[n]}})({${given}});` },
  footer: { js: 'return module.exports;});' },
});
await mkdir(join(dist, 'img'), { recursive: true });
for (const f of whole.outputFiles) {
  await writeFile(f.path, f.contents);
}

const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
// The day of the commit, where it is told: a build can be made again.
const day = new Date(process.env.SOURCE_DATE_EPOCH ? Number(process.env.SOURCE_DATE_EPOCH) * 1000 : Date.now()).toISOString().slice(0, 10);
const plugin = (await readFile(join(root, 'src/plugin.json'), 'utf8')).replaceAll('%VERSION%', version).replaceAll('%TODAY%', day);
await writeFile(join(dist, 'plugin.json'), plugin);
for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE']) {
  await cp(join(root, name), join(dist, name));
}
for (const name of ['img', 'dashboards']) {
  await cp(join(root, 'src', name), join(dist, name), { recursive: true });
}
