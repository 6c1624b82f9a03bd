import { type QueryEditorProps } from '@grafana/data';
import { Combobox, InlineField, InlineSwitch, Input, MultiCombobox, RadioButtonGroup, Stack } from '@grafana/ui';
import React, { useId } from 'react';

import { type QuintetDataSource } from '../datasource';
import { asked, askedOf, domains, type Field, kinds, severities, states, tidy } from '../queries';
import { type QuintetOptions, type QuintetQuery } from '../types';
import { ChoicePicker } from './ChoicePicker';

type Props = QueryEditorProps<QuintetDataSource, QuintetQuery, QuintetOptions>;

const labelWidth = 14;

/** QueryEditor shows the type of a query, and the fields which that type asks for. */
export function QueryEditor({ query, onChange, onRunQuery, datasource }: Props) {
  const id = useId();
  const type = askedOf(query);
  const set = (change: Partial<QuintetQuery>) => {
    onChange(tidy({ ...query, ...change }));
    onRunQuery();
  };
  const has = (field: Field) => type.fields.includes(field);
  return (
    <Stack direction="column" gap={0.5}>
      <InlineField label="Ask for" labelWidth={labelWidth} htmlFor={`${id}-type`} tooltip={type.description}>
        <Combobox id={`${id}-type`} aria-label="Ask for" width={36} options={asked} value={type.value} onChange={(o) => set({ queryType: o.value as QuintetQuery['queryType'] })} />
      </InlineField>
      <Stack direction="row" wrap="wrap" gap={0.5}>
        {has('incident') && (
          <InlineField label="Incident" labelWidth={labelWidth} htmlFor={`${id}-incident`} tooltip="Without one: the newest of the range, open ones first">
            <ChoicePicker id={`${id}-incident`} label="Incident" of="incidents" source={datasource} value={query.incident} placeholder="The newest" onChange={(incident) => set({ incident })} />
          </InlineField>
        )}
        {has('state') && (
          <InlineField label="State" labelWidth={labelWidth}>
            <RadioButtonGroup options={states} value={query.state ?? 'all'} onChange={(state) => set({ state: state as QuintetQuery['state'] })} />
          </InlineField>
        )}
        <Many id={`${id}-severities`} label="Severity" shown={has('severities')} options={severities} value={query.severities} onChange={(severities) => set({ severities })} />
        <Many id={`${id}-domains`} label="Domain" shown={has('domains')} options={domains} value={query.domains} onChange={(domains) => set({ domains })} />
        <Many id={`${id}-kinds`} label="Kind" shown={has('kinds')} options={kinds} value={query.kinds} onChange={(kinds) => set({ kinds })} />
        {has('signature') && (
          <InlineField label="Fault" labelWidth={labelWidth} htmlFor={`${id}-signature`}>
            <ChoicePicker id={`${id}-signature`} label="Fault" of="signatures" source={datasource} value={query.signature} placeholder="Any" onChange={(signature) => set({ signature })} />
          </InlineField>
        )}
        {has('job') && (
          <InlineField label="Job" labelWidth={labelWidth} htmlFor={`${id}-job`}>
            <ChoicePicker id={`${id}-job`} label="Job" of="jobs" source={datasource} value={query.job} placeholder={type.value === 'budget' ? 'The fleet' : 'Any'} onChange={(job) => set({ job })} />
          </InlineField>
        )}
        {has('entity') && (
          <InlineField label="Entity" labelWidth={labelWidth} htmlFor={`${id}-entity`} tooltip="Type a kind and a colon, such as nic:, and then a name">
            <ChoicePicker id={`${id}-entity`} label="Entity" of="entities" source={datasource} value={query.entity} placeholder={type.value === 'topology' ? 'The whole' : 'Any'} onChange={(entity) => set({ entity })} />
          </InlineField>
        )}
        {has('hops') && <Whole id={`${id}-hops`} label="Hops" value={query.hops} usual={2} min={0} max={8} onChange={(hops) => set({ hops })} />}
        {has('groupBy') && type.groups && (
          <InlineField label="Add up" labelWidth={labelWidth}>
            <RadioButtonGroup options={type.groups} value={query.groupBy ?? type.groups[0].value} onChange={(groupBy) => set({ groupBy })} />
          </InlineField>
        )}
        {has('format') && type.formats && (
          <InlineField label="As" labelWidth={labelWidth}>
            <RadioButtonGroup options={type.formats} value={query.format ?? type.formats[0].value} onChange={(format) => set({ format })} />
          </InlineField>
        )}
        {has('window') && <Words id={`${id}-window`} label="Window" value={query.window} usual="1h" onChange={(window) => set({ window })} />}
        {has('limit') && <Whole id={`${id}-limit`} label="At most" value={query.limit} usual={1000} min={1} max={10000} onChange={(limit) => set({ limit })} />}
        {has('live') && (
          <InlineField label="Live" labelWidth={labelWidth} htmlFor={`${id}-live`} tooltip="Incidents appear, and change, as Quintet tells of them">
            <InlineSwitch id={`${id}-live`} value={query.live ?? false} onChange={(e) => set({ live: e.currentTarget.checked || undefined })} />
          </InlineField>
        )}
      </Stack>
    </Stack>
  );
}

interface ManyProps {
  id: string;
  label: string;
  shown: boolean;
  options: Array<{ value: string; label: string }>;
  value?: string[];
  onChange: (value: string[] | undefined) => void;
}

/** Many chooses several of a few; none means any. */
function Many({ id, label, shown, options, value, onChange }: ManyProps) {
  if (!shown) {
    return null;
  }
  return (
    <InlineField label={label} labelWidth={labelWidth} htmlFor={id}>
      <MultiCombobox<string>
        id={id}
        aria-label={label}
        width={28}
        placeholder="Any"
        createCustomValue
        options={options}
        value={value ?? []}
        onChange={(chosen) => onChange(chosen.length > 0 ? chosen.map((o) => o.value) : undefined)}
      />
    </InlineField>
  );
}

interface WholeProps {
  id: string;
  label: string;
  value?: number;
  usual: number;
  min: number;
  max: number;
  onChange: (value: number | undefined) => void;
}

/** Whole takes a whole number when it is left; what is none is the usual one. */
function Whole({ id, label, value, usual, min, max, onChange }: WholeProps) {
  return (
    <InlineField label={label} labelWidth={labelWidth} htmlFor={id}>
      <Input
        id={id}
        type="number"
        width={12}
        min={min}
        max={max}
        key={value}
        defaultValue={value}
        placeholder={String(usual)}
        onBlur={(e) => {
          const n = Math.round(Number(e.currentTarget.value));
          const next = e.currentTarget.value === '' || Number.isNaN(n) ? undefined : Math.min(Math.max(n, min), max);
          if (next !== value) {
            onChange(next);
          }
        }}
      />
    </InlineField>
  );
}

interface WordsProps {
  id: string;
  label: string;
  value?: string;
  usual: string;
  onChange: (value: string | undefined) => void;
}

function Words({ id, label, value, usual, onChange }: WordsProps) {
  return (
    <InlineField label={label} labelWidth={labelWidth} htmlFor={id}>
      <Input id={id} width={12} key={value} defaultValue={value} placeholder={usual} onBlur={(e) => e.currentTarget.value !== (value ?? '') && onChange(e.currentTarget.value.trim() || undefined)} />
    </InlineField>
  );
}
