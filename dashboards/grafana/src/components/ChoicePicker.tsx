import { Combobox, type ComboboxOption } from '@grafana/ui';
import React, { useCallback } from 'react';

import { type QuintetDataSource } from '../datasource';
import { type Offered } from '../types';

interface Props {
  id: string;
  label: string;
  source: QuintetDataSource;
  of: Offered;
  value?: string;
  placeholder: string;
  onChange: (value: string | undefined) => void;
}

/** ChoicePicker offers what Quintet knows while one types, and takes what it does not, such as a variable. */
export function ChoicePicker({ id, label, source, of, value, placeholder, onChange }: Props) {
  const options = useCallback(
    async (typed: string): Promise<Array<ComboboxOption<string>>> => source.offered(of, typed),
    [source, of]
  );
  return (
    <Combobox<string>
      id={id}
      aria-label={label}
      options={options}
      value={value ?? null}
      placeholder={placeholder}
      createCustomValue
      isClearable
      width={of === 'incidents' ? 60 : 28}
      onChange={(option: ComboboxOption<string> | null) => onChange(option?.value || undefined)}
    />
  );
}
