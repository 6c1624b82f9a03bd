import { CustomVariableSupport, type DataQueryRequest, type DataQueryResponse } from '@grafana/data';
import { type Observable } from 'rxjs';

import { VariableEditor } from './components/VariableEditor';
import { type QuintetDataSource } from './datasource';
import { type QuintetQuery } from './types';

/** A dashboard's variable may be any job, entity, fault or incident. */
export class Variables extends CustomVariableSupport<QuintetDataSource, QuintetQuery> {
  readonly editor = VariableEditor;

  constructor(private readonly source: QuintetDataSource) {
    super();
  }

  getDefaultQuery(): Partial<QuintetQuery> {
    return { queryType: 'values', of: 'jobs' };
  }

  query(request: DataQueryRequest<QuintetQuery>): Observable<DataQueryResponse> {
    const targets = request.targets.map((q) => ({ ...q, refId: q.refId || 'variable', queryType: 'values' as const, of: q.of ?? 'jobs' }));
    return this.source.query({ ...request, targets });
  }
}
