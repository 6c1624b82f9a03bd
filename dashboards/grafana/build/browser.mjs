// Drives the built plugin in a real browser, in the page of testhost at the
// address given. SHOTS=DIR keeps pictures. Ends with 1 where something is not as
// it should be.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [url] = process.argv.slice(2);
const shots = process.env.SHOTS;
const patience = Number(process.env.PATIENCE ?? 120_000);

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
context.setDefaultTimeout(patience);
const page = await context.newPage();
const wrong = [];
page.on('pageerror', (e) => wrong.push(`error: ${e.stack ?? e}`));
page.on('console', (m) => m.type() === 'error' && !expected(m.text()) && wrong.push(`console: ${m.text()}`));

/** A refused query, or a health check that fails, is an error to the browser's console too. */
function expected(text) {
  return text.startsWith('Failed to load resource: the server responded with a status of 4') || /LoggerRegistry/.test(text);
}

async function shot(name) {
  if (shots) {
    await mkdir(shots, { recursive: true });
    await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
  }
}

async function open(view) {
  await page.goto(`${url}?view=${view}`);
  await page.waitForSelector('main');
}

const query = async () => JSON.parse(await page.textContent('#query'));

/** rows waits until a frame has at least so many rows. */
async function rows(frame, least) {
  await page.waitForFunction(([f, n]) => Number(document.querySelector(`#answer table[data-frame="${f}"]`)?.dataset.rows ?? -1) >= n, [frame, least]);
  return page.evaluate((f) => [...document.querySelectorAll(`#answer table[data-frame="${f}"] tbody tr`)].map((tr) => [...tr.cells].map((c) => c.textContent)), frame);
}

/** pick types into a box and takes the option of that name. */
async function pick(label, typed, option = typed) {
  const box = page.getByRole('combobox', { name: label, exact: true });
  await box.click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type(typed);
  await page.getByRole('option', { name: option }).first().click();
}

const tests = {
  async 'incidents are what is asked for first'() {
    await open('queries');
    const list = await rows('incidents', 1);
    assert.equal((await query()).queryType, 'incidents');
    assert.match(list[0].join(' '), /slow-receiver/);
    await shot('incidents');
  },
  async 'a live table has one row for each incident'() {
    await page.getByText('Live', { exact: true }).click();
    await page.waitForFunction(() => JSON.parse(document.querySelector('#query').textContent).live === true);
    await page.waitForTimeout(1500);
    const list = await rows('incidents', 1);
    const ids = list.map((r) => r.find((c) => c.startsWith('inc-')));
    assert.equal(new Set(ids).size, ids.length, `the same incident twice: ${ids}`);
  },
  async 'severities narrow, and a variable stands for several'() {
    await pick('Severity', 'critical');
    await page.keyboard.press('Escape');
    assert.deepEqual((await query()).severities, ['critical']);
    const sent = await page.evaluate(() => window.source.applyTemplateVariables({ refId: 'A', queryType: 'incidents', severities: ['$severities'], job: '$job' }, {}));
    assert.deepEqual([sent.severities, sent.job], [['critical', 'warning'], 'train']);
  },
  async 'topology around an entity that is searched for'() {
    await pick('Ask for', 'Topology');
    assert.equal((await query()).severities, undefined, 'a field that is hidden must not filter');
    await rows('nodes', 10);
    await pick('Entity', 'nic:h9', 'nic:h9/nic0');
    await page.waitForFunction(() => JSON.parse(document.querySelector('#query').textContent).entity === 'nic:h9/nic0');
    await page.waitForFunction(() => Number(document.querySelector('table[data-frame="nodes"]').dataset.rows) < 20);
    await page.getByLabel('Hops').fill('1');
    await page.getByLabel('Hops').blur();
    await page.waitForFunction(() => JSON.parse(document.querySelector('#query').textContent).hops === 1);
    await shot('topology');
  },
  async 'the chain of the newest incident, and of one that is chosen'() {
    await pick('Ask for', 'Chain of causes');
    const newest = await rows('nodes', 2);
    await pick('Incident', 'slower', /slower since/);
    await page.waitForFunction(() => JSON.parse(document.querySelector('#query').textContent).incident?.startsWith('inc-'));
    assert.equal((await rows('nodes', 2))[0][0], newest[0][0]);
    await shot('chain');
  },
  async 'where the GPU time of a job went'() {
    await pick('Ask for', 'MFU budget');
    await rows('budget', 10);
    await pick('Job', 'train');
    await page.waitForFunction(() => JSON.parse(document.querySelector('#query').textContent).job === 'train');
    await page.getByRole('radio', { name: 'Wide' }).click();
    await page.waitForFunction(() => document.querySelector('table[data-frame="budget"]')?.dataset.rows === '1');
    await shot('budget');
  },
  async 'what Quintet does not know is said'() {
    await pick('Job', 'nobody', /nobody/);
    await page.waitForFunction(() => document.querySelector('#error').textContent.includes('no budget of "nobody"'));
  },
  async 'every type of query has an answer'() {
    for (const type of await page.evaluate(() => ['Jobs', 'Losses', 'Coupling of domains', 'Bottlenecks', 'Coverage', 'Evidence', 'Open incidents (number)', 'Loss per hour (number)', 'Annotations'])) {
      await pick('Ask for', type, type);
      await page.waitForFunction(() => document.querySelector('#error').textContent === '' && document.querySelectorAll('#answer table').length > 0);
    }
    await shot('annotations');
  },
  async 'annotations ask for incidents whatever the query was'() {
    const got = await page.evaluate(() => window.source.annotations.prepareQuery({ target: { refId: 'B', queryType: 'jobs', domains: ['network'] } }));
    assert.deepEqual(got, { refId: 'B', queryType: 'annotations', domains: ['network'] });
    const usual = await page.evaluate(() => [window.source.getDefaultQuery('unified-alerting').queryType, window.source.getDefaultQuery('dashboard').queryType]);
    assert.deepEqual(usual, ['openIncidents', 'incidents']);
  },
  async 'a variable ranges over jobs'() {
    const got = await page.evaluate(async () => {
      const to = Date.now();
      const range = { from: { valueOf: () => to - 3600_000 }, to: { valueOf: () => to }, raw: {} };
      const answer = await new Promise((resolve, reject) => window.source.variables.query({ targets: [{ of: 'jobs' }], range, scopedVars: {} }).subscribe({ next: resolve, error: reject }));
      return answer.data[0].fields.find((f) => f.name === 'value').values;
    });
    assert.ok([...got].includes('train'), String(got));
    await open('variable');
    await page.getByRole('radio', { name: 'Faults' }).click();
    assert.equal((await page.evaluate(() => window.variable)).of, 'signatures');
  },
  async 'settings: a wrong address is marked, a right one is tested'() {
    await open('config');
    const address = page.getByLabel('URL');
    await address.fill('quintet:8420');
    await page.getByText('Want http://host:port or https://host:port').waitFor();
    await address.fill(process.env.QUINTET_URL);
    await page.getByRole('button', { name: 'Save & test' }).click();
    await page.waitForFunction(() => /^success: Quintet \S+ of site/.test(document.querySelector('#said').textContent));
    await shot('config');
  },
  async 'settings: a password is kept and not shown'() {
    await page.getByLabel('Log in').click({ force: true });
    await page.getByLabel('User', { exact: true }).fill('grafana');
    await page.locator('#quintet-password').fill('correct horse');
    await page.getByRole('button', { name: 'Save & test' }).click();
    await page.waitForFunction(() => document.querySelector('#quintet-password').disabled);
    assert.ok(!(await page.content()).includes('correct horse'));
    await page.getByRole('button', { name: 'Reset' }).click();
    await page.waitForFunction(() => !document.querySelector('#quintet-password').disabled);
  },
  async 'settings: an authority is asked for only where it is needed'() {
    assert.equal(await page.locator('#quintet-tlsCACert').count(), 0);
    await page.getByLabel('Own authority').click({ force: true });
    await page.locator('#quintet-tlsCACert').waitFor();
    await page.getByLabel('Own authority').click({ force: true });
    await shot('config-login');
  },
  async 'settings: nobody is there'() {
    await page.getByLabel('URL').fill('http://127.0.0.1:9');
    await page.getByRole('button', { name: 'Save & test' }).click();
    await page.waitForFunction(() => document.querySelector('#said').textContent.startsWith('error: Quintet cannot be reached'));
  },
};

let failed = 0;
for (const [name, run] of Object.entries(tests)) {
  wrong.length = 0;
  try {
    await run();
    assert.deepEqual(wrong, [], 'the browser complains');
    console.log(`ok   ${name}`);
  } catch (e) {
    failed++;
    console.log(`FAIL ${name}\n${e.stack ?? e}\n${wrong.join('\n')}`);
    await shot('failed');
    break; // each goes on where the one before ended
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
