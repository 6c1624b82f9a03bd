import { type QuintetQuery, type QueryType } from './types';

/** The fields of a query that a person may set. */
export type Field =
  | 'state'
  | 'severities'
  | 'domains'
  | 'kinds'
  | 'signature'
  | 'entity'
  | 'job'
  | 'incident'
  | 'hops'
  | 'format'
  | 'groupBy'
  | 'window'
  | 'limit'
  | 'live';

export interface Option {
  value: string;
  label: string;
  description?: string;
}

export interface Asked {
  value: QueryType;
  label: string;
  description: string;
  fields: Field[];
  formats?: Option[];
  groups?: Option[];
}

const ofIncidents: Field[] = ['state', 'severities', 'domains', 'kinds', 'signature', 'job', 'entity'];

/** What may be asked, in the order in which it is offered. The first option of each list is what holds if none is chosen. */
export const asked: Asked[] = [
  {
    value: 'incidents',
    label: 'Incidents',
    description: 'Those open at some time of the range, as a table; may be kept live',
    fields: [...ofIncidents, 'limit', 'live'],
  },
  {
    value: 'chain',
    label: 'Chain of causes',
    description: 'From the root of an incident to the jobs it degrades, as a node graph',
    fields: ['incident'],
  },
  {
    value: 'curves',
    label: 'Evidence',
    description: 'The curves by which an incident is known, as time series',
    fields: ['incident'],
  },
  {
    value: 'topology',
    label: 'Topology',
    description: 'What is around an entity, as a node graph',
    fields: ['entity', 'hops'],
  },
  {
    value: 'jobs',
    label: 'Jobs',
    description: 'How they are now, or how long their recent steps took',
    fields: ['job', 'format'],
    formats: [
      { value: 'table', label: 'Table' },
      { value: 'steps', label: 'Steps', description: 'a time series for each job' },
    ],
  },
  {
    value: 'losses',
    label: 'Losses',
    description: 'GPU time lost since the range began',
    fields: ['groupBy', 'job'],
    groups: [
      { value: 'cause', label: 'By cause' },
      { value: 'job', label: 'By job' },
      { value: 'domain', label: 'By domain' },
      { value: 'day', label: 'By day', description: 'a heat map, or bars, of days and domains' },
    ],
  },
  {
    value: 'coupling',
    label: 'Coupling of domains',
    description: 'GPU time lost through links from one domain to another',
    fields: ['format'],
    formats: [
      { value: 'matrix', label: 'Matrix', description: 'a table with coloured cells' },
      { value: 'pairs', label: 'Pairs', description: 'a row for each pair, with its lag' },
      { value: 'graph', label: 'Graph', description: 'a node graph of the five' },
    ],
  },
  {
    value: 'budget',
    label: 'MFU budget',
    description: 'Where GPU time went, from peak to achieved',
    fields: ['job', 'format'],
    formats: [
      { value: 'waterfall', label: 'Waterfall', description: 'a row for each part' },
      { value: 'wide', label: 'Wide', description: 'a field for each part, for bars and gauges' },
    ],
  },
  {
    value: 'bottlenecks',
    label: 'Bottlenecks',
    description: 'What holds the fleet and each job back, in percent',
    fields: [],
  },
  {
    value: 'coverage',
    label: 'Coverage',
    description: 'What is heard from where',
    fields: ['format'],
    formats: [
      { value: 'timeline', label: 'Timeline', description: 'for the state timeline' },
      { value: 'table', label: 'Table' },
    ],
  },
  {
    value: 'openIncidents',
    label: 'Open incidents (number)',
    description: 'Counted by severity, as of now: to alert on',
    fields: ['domains', 'kinds', 'signature', 'job', 'entity'],
  },
  {
    value: 'lossRate',
    label: 'Loss per hour (number)',
    description: 'GPU-seconds lost per hour, by domain: to alert on',
    fields: ['window', 'job'],
  },
  {
    value: 'annotations',
    label: 'Annotations',
    description: 'Incidents as regions on graphs',
    fields: ofIncidents,
  },
];

export const severities: Option[] = ['critical', 'warning', 'info'].map((value) => ({ value, label: value }));
export const domains: Option[] = ['software', 'computing', 'network', 'power', 'cooling'].map((value) => ({ value, label: value }));
export const kinds: Option[] = [
  { value: 'incident', label: 'incident', description: 'a job is hurt' },
  { value: 'risk', label: 'risk', description: 'none is hurt yet' },
];
export const states: Option[] = ['all', 'open', 'resolved'].map((value) => ({ value, label: value }));

export function askedOf(query: Pick<QuintetQuery, 'queryType'>): Asked {
  return asked.find((a) => a.value === query.queryType) ?? asked[0];
}

/** Takes off a query what its type does not ask for: what is hidden must not filter. */
export function tidy(query: QuintetQuery): QuintetQuery {
  const type = askedOf(query);
  const out = { ...query, queryType: type.value };
  const every: Field[] = [...ofIncidents, 'incident', 'hops', 'format', 'groupBy', 'window', 'limit', 'live'];
  for (const field of every) {
    if (!type.fields.includes(field)) {
      delete out[field];
    }
  }
  if (out.format && !type.formats?.some((f) => f.value === out.format)) {
    delete out.format;
  }
  return out;
}

export type Format = 'csv' | ((value: string | string[]) => string);

/** only is the value of a variable where one is wanted: of several, and of all, any will do, which is none. */
const only: Format = (value) => (Array.isArray(value) ? (value.length === 1 ? value[0] : '') : value);

/** Replaces variables in every text of a query. A variable in a list may stand for several values. */
export function interpolated(query: QuintetQuery, replace: (text: string, format: Format) => string): QuintetQuery {
  const out = { ...query };
  for (const key of ['signature', 'entity', 'job', 'incident', 'window', 'search'] as const) {
    const text = out[key];
    if (text) {
      out[key] = replace(text, only) || undefined;
    }
  }
  for (const key of ['severities', 'domains', 'kinds'] as const) {
    const list = out[key];
    if (list) {
      out[key] = list
        .flatMap((text) => (text.includes('$') ? replace(text, 'csv').split(',') : [text]))
        .map((text) => text.trim())
        .filter((text) => text !== '');
    }
  }
  return out;
}
