import {
  type DataSourcePluginOptionsEditorProps,
  onUpdateDatasourceJsonDataOption,
  onUpdateDatasourceOption,
  onUpdateDatasourceSecureJsonDataOption,
  updateDatasourcePluginJsonDataOption,
  updateDatasourcePluginOption,
} from '@grafana/data';
import { Field, FieldSet, Input, SecretInput, SecretTextArea, Switch } from '@grafana/ui';
import React from 'react';

import { type QuintetOptions, type QuintetSecrets } from '../types';

type Props = DataSourcePluginOptionsEditorProps<QuintetOptions, QuintetSecrets>;

/** forget takes a secret that is kept away, so that another may be typed. */
function forget({ options, onOptionsChange }: Props, secret: keyof QuintetSecrets) {
  onOptionsChange({
    ...options,
    secureJsonData: { ...options.secureJsonData, [secret]: '' },
    secureJsonFields: { ...options.secureJsonFields, [secret]: false },
  });
}

/** ConfigEditor says where Quintet is and who asks it. */
export function ConfigEditor(props: Props) {
  return (
    <>
      <Server {...props} />
      <User {...props} />
      <Transport {...props} />
    </>
  );
}

function Server(props: Props) {
  const { options } = props;
  const wrong = options.url && !/^https?:\/\/[^/?#@\s]+[^?#\s]*$/.test(options.url.trim());
  return (
    <FieldSet label="Server">
      <Field label="URL" description="Where Grafana's server finds Quintet" required invalid={Boolean(wrong)} error={wrong ? 'Want http://host:port or https://host:port' : undefined} htmlFor="quintet-url">
        <Input id="quintet-url" width={60} value={options.url} placeholder="http://127.0.0.1:8420" onChange={onUpdateDatasourceOption(props, 'url')} />
      </Field>
      <Field label="Page" description="Where people's browsers find Quintet's page, if it is elsewhere: tables and graphs link to it" htmlFor="quintet-page">
        <Input id="quintet-page" width={60} value={options.jsonData.pageUrl ?? ''} placeholder="the same" onChange={onUpdateDatasourceJsonDataOption(props, 'pageUrl')} />
      </Field>
      <Field label="Time-out" description="How long a question may take, in seconds" htmlFor="quintet-timeout">
        <Input
          id="quintet-timeout"
          type="number"
          min={1}
          width={20}
          value={options.jsonData.timeout ?? ''}
          placeholder="30"
          onChange={(e) => updateDatasourcePluginJsonDataOption(props, 'timeout', e.currentTarget.value === '' ? undefined : Math.max(1, Math.round(Number(e.currentTarget.value))))}
        />
      </Field>
    </FieldSet>
  );
}

function User(props: Props) {
  const { options } = props;
  return (
    <FieldSet label="User">
      <Field label="Log in" description="With HTTP basic authentication, as Quintet asks off loopback">
        <Switch id="quintet-basic" aria-label="Log in" value={options.basicAuth} onChange={(e) => updateDatasourcePluginOption(props, 'basicAuth', e.currentTarget.checked)} />
      </Field>
      {options.basicAuth && (
        <>
          <Field label="User" htmlFor="quintet-user">
            <Input id="quintet-user" width={40} value={options.basicAuthUser} onChange={onUpdateDatasourceOption(props, 'basicAuthUser')} />
          </Field>
          <Field label="Password" htmlFor="quintet-password">
            <SecretInput
              id="quintet-password"
              width={40}
              isConfigured={options.secureJsonFields?.basicAuthPassword ?? false}
              value={options.secureJsonData?.basicAuthPassword ?? ''}
              onChange={onUpdateDatasourceSecureJsonDataOption(props, 'basicAuthPassword')}
              onReset={() => forget(props, 'basicAuthPassword')}
            />
          </Field>
        </>
      )}
    </FieldSet>
  );
}

function Transport(props: Props) {
  const { jsonData } = props.options;
  const toggle = (key: 'tlsAuthWithCACert' | 'tlsAuth' | 'tlsSkipVerify') => (e: React.FormEvent<HTMLInputElement>) =>
    updateDatasourcePluginJsonDataOption(props, key, e.currentTarget.checked);
  return (
    <FieldSet label="TLS">
      <Field label="Own authority" description="Quintet's certificate is signed by an authority that Grafana's server does not know">
        <Switch id="quintet-ca-switch" aria-label="Own authority" value={jsonData.tlsAuthWithCACert ?? false} onChange={toggle('tlsAuthWithCACert')} />
      </Field>
      {jsonData.tlsAuthWithCACert && <Pem {...props} secret="tlsCACert" label="Authority's certificate" begins="CERTIFICATE" />}
      <Field label="Client certificate" description="Quintet, or a proxy before it, wants to know who asks">
        <Switch id="quintet-cert-switch" aria-label="Client certificate" value={jsonData.tlsAuth ?? false} onChange={toggle('tlsAuth')} />
      </Field>
      {jsonData.tlsAuth && (
        <>
          <Field label="Server's name" htmlFor="quintet-server-name">
            <Input id="quintet-server-name" width={40} value={jsonData.serverName ?? ''} onChange={onUpdateDatasourceJsonDataOption(props, 'serverName')} />
          </Field>
          <Pem {...props} secret="tlsClientCert" label="Client's certificate" begins="CERTIFICATE" />
          <Pem {...props} secret="tlsClientKey" label="Client's key" begins="RSA PRIVATE KEY" />
        </>
      )}
      <Field label="Skip verification" description="Believe any certificate: for trials only">
        <Switch id="quintet-skip" aria-label="Skip verification" value={jsonData.tlsSkipVerify ?? false} onChange={toggle('tlsSkipVerify')} />
      </Field>
    </FieldSet>
  );
}

interface PemProps extends Props {
  secret: 'tlsCACert' | 'tlsClientCert' | 'tlsClientKey';
  label: string;
  begins: string;
}

function Pem({ secret, label, begins, ...props }: PemProps) {
  const { options } = props;
  return (
    <Field label={label} htmlFor={`quintet-${secret}`}>
      <SecretTextArea
        id={`quintet-${secret}`}
        cols={60}
        rows={6}
        placeholder={`-----BEGIN ${begins}-----`}
        isConfigured={options.secureJsonFields?.[secret] ?? false}
        value={options.secureJsonData?.[secret] ?? ''}
        onChange={onUpdateDatasourceSecureJsonDataOption(props, secret)}
        onReset={() => forget(props, secret)}
      />
    </Field>
  );
}
