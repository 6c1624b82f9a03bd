import { type DataQuery, type DataSourceJsonData } from '@grafana/data';

/** What may be asked, as the back end names it (pkg/plugin/query.go). */
export type QueryType =
  | 'incidents'
  | 'annotations'
  | 'chain'
  | 'curves'
  | 'topology'
  | 'jobs'
  | 'losses'
  | 'coupling'
  | 'budget'
  | 'bottlenecks'
  | 'coverage'
  | 'openIncidents'
  | 'lossRate'
  | 'values';

export type Offered = 'jobs' | 'entities' | 'signatures' | 'incidents';

export interface QuintetQuery extends DataQuery {
  queryType?: QueryType;
  state?: 'all' | 'open' | 'resolved';
  severities?: string[];
  domains?: string[];
  kinds?: string[];
  signature?: string;
  entity?: string;
  job?: string;
  limit?: number;
  format?: string;
  groupBy?: string;
  incident?: string;
  hops?: number;
  window?: string;
  live?: boolean;
  of?: Offered;
  search?: string;
}

export interface QuintetOptions extends DataSourceJsonData {
  /** Where people's browsers find Quintet's page; empty: where Grafana's server finds it. */
  pageUrl?: string;
  /** How long a question may take, in seconds. */
  timeout?: number;
  tlsAuthWithCACert?: boolean;
  tlsAuth?: boolean;
  tlsSkipVerify?: boolean;
  serverName?: string;
}

export interface QuintetSecrets {
  basicAuthPassword?: string;
  tlsCACert?: string;
  tlsClientCert?: string;
  tlsClientKey?: string;
}

/** What the back end offers for a field. */
export interface Choice {
  label: string;
  value: string;
  description?: string;
}
