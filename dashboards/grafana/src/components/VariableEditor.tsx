import { type QueryEditorProps } from '@grafana/data';
import { InlineField, Input, RadioButtonGroup, Stack } from '@grafana/ui';
import React, { useId } from 'react';

import { type QuintetDataSource } from '../datasource';
import { type Offered, type QuintetOptions, type QuintetQuery } from '../types';

type Props = QueryEditorProps<QuintetDataSource, QuintetQuery, QuintetOptions, QuintetQuery>;

const of: Array<{ value: Offered; label: string }> = [
  { value: 'jobs', label: 'Jobs' },
  { value: 'entities', label: 'Entities' },
  { value: 'signatures', label: 'Faults' },
  { value: 'incidents', label: 'Incidents' },
];

/** VariableEditor says what a dashboard's variable ranges over. */
export function VariableEditor({ query, onChange }: Props) {
  const id = useId();
  const set = (change: Partial<QuintetQuery>) => onChange({ ...query, refId: query.refId || 'variable', queryType: 'values', ...change });
  return (
    <Stack direction="row" wrap="wrap" gap={0.5}>
      <InlineField label="Values" labelWidth={14}>
        <RadioButtonGroup options={of} value={query.of ?? 'jobs'} onChange={(of) => set({ of })} />
      </InlineField>
      <InlineField label="Containing" labelWidth={14} htmlFor={id} tooltip="Of entities first the kind and a colon, such as nic:">
        <Input id={id} width={28} defaultValue={query.search} onBlur={(e) => set({ search: e.currentTarget.value.trim() || undefined })} />
      </InlineField>
    </Stack>
  );
}
