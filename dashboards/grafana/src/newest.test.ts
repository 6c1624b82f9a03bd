import { type DataFrame } from '@grafana/data';
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { newest } from './newest';

/** told makes a frame of revisions: id, opened, revision, severity. */
function told(...rows: Array<[string, number, number, string]>): DataFrame {
  const names = ['id', 'opened', 'revision', 'severity'];
  return {
    name: 'incidents',
    fields: names.map((name, i) => ({ name, type: 'string', config: {}, values: rows.map((r) => r[i]) })),
    length: rows.length,
  } as unknown as DataFrame;
}

const shown = (f: DataFrame) => Array.from({ length: f.length }, (_, r) => f.fields.map((k) => k.values[r]).join(' '));

test('one row for each incident, the last that was told, the newest opening first', () => {
  const f = newest(told(['b', 20, 1, 'info'], ['a', 10, 1, 'info'], ['b', 20, 2, 'critical'], ['c', 30, 1, 'info'], ['a', 10, 2, 'warning']), 100);
  assert.deepEqual(shown(f), ['c 30 1 info', 'b 20 2 critical', 'a 10 2 warning']);
});

test('an older revision that comes late does not replace a newer one; the same one told again does', () => {
  const f = newest(told(['a', 10, 3, 'critical'], ['a', 10, 2, 'info']), 100);
  assert.deepEqual(shown(f), ['a 10 3 critical']);
  assert.deepEqual(shown(newest(told(['a', 10, 3, 'critical'], ['a', 10, 3, 'warning']), 100)), ['a 10 3 warning']);
});

test('the limit keeps the newest', () => {
  assert.deepEqual(shown(newest(told(['a', 10, 1, 'x'], ['b', 20, 1, 'x'], ['c', 30, 1, 'x']), 2)), ['c 30 1 x', 'b 20 1 x']);
});

test('told twice is told once, in whichever order', () => {
  const rows: Array<[string, number, number, string]> = [['a', 10, 1, 'x'], ['b', 20, 2, 'y'], ['c', 20, 1, 'z']];
  const once = shown(newest(told(...rows), 100));
  assert.deepEqual(shown(newest(told(...rows, ...rows), 100)), once);
  assert.deepEqual(shown(newest(told(...rows.reverse()), 100)), once);
});

test('a frame of something else is left as it is', () => {
  const f = { name: 'jobs', fields: [], length: 0 } as unknown as DataFrame;
  assert.equal(newest(f, 1), f);
});
