import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { asked, askedOf, type Format, interpolated, tidy } from './queries';
import { type QuintetQuery } from './types';

test('every type that is offered is one that the back end answers', () => {
  const source = readFileSync('pkg/plugin/query.go', 'utf8');
  for (const { value } of asked) {
    assert.match(source, new RegExp(`case .*"${value}"`), value);
  }
  for (const [, value] of source.matchAll(/^\tcase (?:"", )?"(\w+)":$/gm)) {
    assert.ok(value === 'values' || asked.some((a) => a.value === value), `${value} is not offered`);
  }
});

test('every format and sum that is offered is one that the back end takes', () => {
  const source = readFileSync('pkg/plugin/answers.go', 'utf8');
  for (const a of asked) {
    for (const list of [a.formats, a.groups]) {
      if (list) {
        assert.ok(source.includes(list.map((o) => `"${o.value}"`).join(', ')), `${a.value}: ${list.map((o) => o.value)}`);
      }
    }
  }
});

test('what is hidden does not filter', () => {
  const query: QuintetQuery = { refId: 'A', queryType: 'coupling', job: 'train', severities: ['info'], hops: 3, live: true, format: 'graph' };
  assert.deepEqual(tidy(query), { refId: 'A', queryType: 'coupling', format: 'graph' });
  assert.deepEqual(tidy({ ...query, queryType: 'jobs' }), { refId: 'A', queryType: 'jobs', job: 'train' });
});

test('a query without a type asks for incidents', () => {
  assert.equal(askedOf({}).value, 'incidents');
  assert.equal(tidy({ refId: 'A' }).queryType, 'incidents');
});

test('tidy leaves what is tidy, and does not touch its argument', () => {
  for (const a of asked) {
    const once = tidy({ refId: 'A', queryType: a.value, job: 'x', entity: 'y', format: a.formats?.[0].value });
    assert.deepEqual(tidy(once), once);
  }
  const query: QuintetQuery = { refId: 'A', queryType: 'coverage', job: 'train' };
  tidy(query);
  assert.equal(query.job, 'train');
});

test('variables are replaced in texts and in lists', () => {
  const values: Record<string, string | string[]> = { $job: 'train', $some: ['network', 'power'], $all: ['train', 'eval'], $single: ['eval'] };
  const replace = (text: string, format: Format) =>
    Object.entries(values).reduce((t, [name, value]) => t.replace(name, () => (format === 'csv' ? [value].flat().join(',') : format(value))), text);
  const got = interpolated({ refId: 'A', job: '$job', entity: 'node:$job', signature: '$all', incident: '$single', domains: ['$some', 'cooling'], severities: [] }, replace);
  assert.deepEqual(got, { refId: 'A', job: 'train', entity: 'node:train', signature: undefined, incident: 'eval', domains: ['network', 'power', 'cooling'], severities: [] });
});
