import {
  type AnnotationSupport,
  CoreApp,
  type DataFrame,
  type DataQueryRequest,
  type DataQueryResponse,
  type DataSourceInstanceSettings,
  type ScopedVars,
} from '@grafana/data';
import { DataSourceWithBackend, getTemplateSrv, StreamingFrameAction, type TemplateSrv } from '@grafana/runtime';
import { map, type Observable } from 'rxjs';

import { newest } from './newest';
import { interpolated, tidy } from './queries';
import { type Choice, type Offered, type QuintetOptions, type QuintetQuery } from './types';
import { Variables } from './variables';

/** How many rows a live table holds, and of how many revisions a stream keeps them. */
const liveRows = 1000;
const liveRevisions = 4 * liveRows;

export class QuintetDataSource extends DataSourceWithBackend<QuintetQuery, QuintetOptions> {
  private readonly templates: TemplateSrv;

  constructor(settings: DataSourceInstanceSettings<QuintetOptions>, templates: TemplateSrv = getTemplateSrv()) {
    super(settings);
    this.templates = templates;
    this.variables = new Variables(this);
    this.annotations = annotations;
    // Rows are revisions, not points in time: none grows too old.
    this.streamOptionsProvider = () => ({ maxLength: liveRevisions, maxDelta: Infinity, action: StreamingFrameAction.Append });
  }

  getDefaultQuery(app: CoreApp): Partial<QuintetQuery> {
    return { queryType: app === CoreApp.UnifiedAlerting ? 'openIncidents' : 'incidents' };
  }

  applyTemplateVariables(query: QuintetQuery, scoped: ScopedVars): QuintetQuery {
    const plain = query.queryType === 'values' ? query : tidy(query);
    return interpolated(plain, (text, format) => this.templates.replace(text, scoped, format));
  }

  query(request: DataQueryRequest<QuintetQuery>): Observable<DataQueryResponse> {
    const limits = new Map(request.targets.filter((q) => q.live).map((q) => [q.refId, q.limit ?? liveRows]));
    const answers = super.query(request);
    if (limits.size === 0) {
      return answers;
    }
    const only = limits.size === 1 ? [...limits.values()][0] : liveRows;
    return answers.pipe(
      map((answer) => ({
        ...answer,
        data: answer.data.map((f: DataFrame) => newest(f, limits.get(f.refId ?? '') ?? only)),
      }))
    );
  }

  /** What may be chosen for a field, as far as it contains what was typed. */
  offered(of: Offered, search: string): Promise<Choice[]> {
    return this.getResource<Choice[]>(of, { search });
  }
}

/** Annotations are incidents: whatever the query asked for before, it asks for them. */
const annotations: AnnotationSupport<QuintetQuery> = {
  getDefaultQuery: () => ({ queryType: 'annotations' }),
  prepareQuery: (a) => ({ ...(a.target ?? {}), refId: a.target?.refId ?? 'Anno', queryType: 'annotations' }),
};
