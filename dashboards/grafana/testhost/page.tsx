// The page of testhost: it gives the built plugin what Grafana's page gives, and
// shows its editors and what its queries answer. Grafana's own services are
// stood in for by the shortest that speak to testhost's server.
import * as emotion from '@emotion/css';
import * as grafanaData from '@grafana/data';
import * as grafanaRuntime from '@grafana/runtime';
import * as grafanaUI from '@grafana/ui';
import React from 'react';
import ReactDOM from 'react-dom';
import { createRoot } from 'react-dom/client';
import * as rxjs from 'rxjs';

import { type QuintetDataSource } from '../src/datasource';
import { type QuintetOptions, type QuintetQuery } from '../src/types';

interface Loader {
  set(id: string, module: object): void;
  import(url: string): Promise<{ plugin: grafanaData.DataSourcePlugin<QuintetDataSource, QuintetQuery, QuintetOptions> }>;
}
declare const System: Loader & { constructor: { prototype: { resolve(id: string, parent?: string): string } } };

const given: Record<string, object> = {
  react: React,
  'react-dom': ReactDOM,
  rxjs,
  '@emotion/css': emotion,
  '@grafana/data': grafanaData,
  '@grafana/runtime': grafanaRuntime,
  '@grafana/ui': grafanaUI,
};
const resolve = System.constructor.prototype.resolve;
System.constructor.prototype.resolve = function (id: string, parent?: string) {
  return id in given ? `given:${id}` : resolve.call(this, id, parent);
};
for (const [id, module] of Object.entries(given)) {
  System.set(`given:${id}`, { ...module, default: module, __useDefault: module });
}

const settings: grafanaData.DataSourceInstanceSettings<QuintetOptions> = {
  id: 1,
  uid: 'quintet',
  type: 'quintet-quintet-datasource',
  name: 'Quintet',
  access: 'proxy',
  readOnly: false,
  jsonData: {},
  meta: { id: 'quintet-quintet-datasource', type: grafanaData.PluginType.datasource } as never,
};

grafanaRuntime.setTemplateSrv({
  replace: (text = '', _scoped: unknown, format?: string | ((v: string | string[]) => string)) =>
    text
      .replace(/\$severities/g, () => (typeof format === 'function' ? format(['critical', 'warning']) : 'critical,warning'))
      .replace(/\$job/g, () => (typeof format === 'function' ? format('train') : 'train')),
  getVariables: () => [],
  containsTemplate: (text?: string) => Boolean(text?.includes('$')),
  updateTimeRange: () => undefined,
} as never);
grafanaRuntime.setDataSourceSrv({ getInstanceSettings: () => settings, getList: () => [settings], get: () => Promise.reject(), reload: () => undefined } as never);

async function send(o: grafanaRuntime.BackendSrvRequest) {
  const params = o.params ? '?' + new URLSearchParams(Object.entries(o.params).filter(([, v]) => v !== undefined) as never) : '';
  const resp = await fetch(o.url + params, { method: o.method, body: o.data ? JSON.stringify(o.data) : undefined });
  const data = await resp.json();
  const out = { data, status: resp.status, statusText: resp.statusText, ok: resp.ok, headers: resp.headers, url: o.url, type: 'basic', redirected: false, config: o };
  if (!resp.ok) {
    throw out;
  }
  return out;
}
grafanaRuntime.setBackendSrv({ fetch: (o: grafanaRuntime.BackendSrvRequest) => rxjs.from(send(o)) } as never);

grafanaRuntime.setGrafanaLiveSrv({
  getDataStream: ({ addr, frame, buffer }: grafanaRuntime.LiveDataStreamOptions) =>
    new rxjs.Observable<grafanaData.DataQueryResponse>((to) => {
      const rows = grafanaData.StreamingDataFrame.empty(buffer);
      const tell = () => to.next({ data: [rows], key: addr.path, state: grafanaData.LoadingState.Streaming });
      if (frame) {
        rows.push(frame);
        tell();
      }
      const events = new EventSource(`/live/${addr.path}`);
      events.onmessage = (e) => {
        rows.push(JSON.parse(e.data));
        tell();
      };
      return () => events.close();
    }),
} as never);

function Shown({ frames }: { frames: grafanaData.DataFrame[] }) {
  return (
    <div id="answer">
      {frames.map((f, i) => (
        <table key={i} data-frame={f.name} data-rows={f.length}>
          <thead>
            <tr>{f.fields.map((k) => <th key={k.name}>{k.name}</th>)}</tr>
          </thead>
          <tbody>
            {Array.from({ length: Math.min(f.length, 40) }, (_, r) => (
              <tr key={r}>{f.fields.map((k) => <td key={k.name}>{String(k.values[r] ?? '')}</td>)}</tr>
            ))}
          </tbody>
        </table>
      ))}
    </div>
  );
}

function Queries({ source, plugin }: { source: QuintetDataSource; plugin: grafanaData.DataSourcePlugin<QuintetDataSource, QuintetQuery, QuintetOptions> }) {
  const [query, setQuery] = React.useState<QuintetQuery>({ refId: 'A', ...source.getDefaultQuery!(grafanaData.CoreApp.PanelEditor) });
  const [frames, setFrames] = React.useState<grafanaData.DataFrame[]>([]);
  const [error, setError] = React.useState('');
  const [runs, setRuns] = React.useState(0);
  React.useEffect(() => {
    const to = grafanaData.dateTime();
    const from = grafanaData.dateTime(to.valueOf() - 3600_000);
    const request = { app: 'panel-editor', requestId: 'Q', interval: '1s', intervalMs: 1000, maxDataPoints: 1000, range: { from, to, raw: { from: 'now-1h', to: 'now' } }, scopedVars: {}, timezone: 'utc', startTime: 0, targets: [{ ...query, datasource: { uid: 'quintet', type: settings.type } }] };
    const s = source.query(request as never).subscribe({
      next: (r) => {
        setFrames([...r.data]);
        setError(r.error?.message ?? r.errors?.map((e) => e.message).join('; ') ?? '');
      },
      error: (e) => setError(String(e.message ?? e)),
    });
    return () => s.unsubscribe();
  }, [runs, source]); // eslint-disable-line
  const Editor = plugin.components.QueryEditor!;
  return (
    <section id="queries">
      <h1>Query</h1>
      <Editor datasource={source} query={query} onChange={setQuery} onRunQuery={() => setRuns((n) => n + 1)} />
      <pre id="query">{JSON.stringify(query)}</pre>
      <p id="error">{error}</p>
      <Shown frames={frames} />
    </section>
  );
}

function Config({ source, plugin }: { source: QuintetDataSource; plugin: grafanaData.DataSourcePlugin<QuintetDataSource, QuintetQuery, QuintetOptions> }) {
  const [options, setOptions] = React.useState<any>({ ...settings, url: '', basicAuth: false, basicAuthUser: '', jsonData: {}, secureJsonFields: {}, secureJsonData: {} });
  const [said, setSaid] = React.useState('');
  const Editor = plugin.components.ConfigEditor as React.ComponentType<any>;
  const save = async () => {
    await fetch('/api/datasources/uid/quintet', { method: 'PUT', body: JSON.stringify(options) });
    const kept = Object.fromEntries(Object.entries(options.secureJsonData).filter(([, v]) => v).map(([k]) => [k, true]));
    setOptions({ ...options, secureJsonFields: { ...options.secureJsonFields, ...kept }, secureJsonData: {} });
    source.testDatasource().then((r) => setSaid(`${r.status}: ${r.message}`), (e) => setSaid(`${e.status}: ${e.message}`));
  };
  return (
    <section id="config">
      <h1>Settings</h1>
      <Editor options={options} onOptionsChange={setOptions} />
      <grafanaUI.Button onClick={save}>Save &amp; test</grafanaUI.Button>
      <p id="said">{said}</p>
    </section>
  );
}

async function main() {
  const { plugin } = await System.import('/plugin/module.js');
  const source = new plugin.DataSourceClass(settings);
  const theme = grafanaData.createTheme({ colors: { mode: 'dark' } });
  const view = new URLSearchParams(location.search).get('view') ?? 'queries';
  const Variable = (source.variables as any).editor;
  createRoot(document.getElementById('root')!).render(
    <grafanaData.ThemeContext.Provider value={theme}>
      <grafanaUI.GlobalStyles />
      <grafanaUI.PortalContainer />
      <main data-react={React.version}>
        {view === 'queries' && <Queries source={source} plugin={plugin} />}
        {view === 'config' && <Config source={source} plugin={plugin} />}
        {view === 'variable' && <Variable datasource={source} query={{ refId: 'v' }} onChange={(q: QuintetQuery) => ((window as any).variable = q)} onRunQuery={() => undefined} />}
      </main>
    </grafanaData.ThemeContext.Provider>
  );
  Object.assign(window, { source, plugin });
}

main().catch((e) => {
  document.body.append(`failed: ${e.stack ?? e}`);
});
