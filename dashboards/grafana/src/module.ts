import { DataSourcePlugin } from '@grafana/data';

import { ConfigEditor } from './components/ConfigEditor';
import { QueryEditor } from './components/QueryEditor';
import { QuintetDataSource } from './datasource';
import { type QuintetOptions, type QuintetQuery } from './types';

export const plugin = new DataSourcePlugin<QuintetDataSource, QuintetQuery, QuintetOptions>(QuintetDataSource)
  .setConfigEditor(ConfigEditor)
  .setQueryEditor(QueryEditor);
