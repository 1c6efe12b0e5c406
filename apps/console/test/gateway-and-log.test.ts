import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { openBrowser, openContext, openPage } from './support/chromium.ts';
import { type RunningPlatform, startPlatform } from './support/platform.ts';
import { Agent, call, until } from './support/traffic.ts';

const VERIFIER = fileURLToPath(new URL('../../../libs/log-verify/src/bin.ts', import.meta.url));
const CREDENTIAL = 'sk-ant-secret-of-this-test';
const ANSWER = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-haiku-4-5',
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 12, output_tokens: 34 },
};

void describe('the model gateway and the log in the console', { timeout: 1_200_000 }, () => {
  let platform: RunningPlatform;
  let provider: Server;
  let providerAddress: string;
  let browser: Browser;
  const keysSeen = new Set<string>();

  before(async () => {
    provider = createServer((request, response) => {
      keysSeen.add(String(request.headers['x-api-key']));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(request.url === '/v1/models' ? { data: [] } : ANSWER));
    });
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    providerAddress = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    platform = await startPlatform('one process', { AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32' });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    provider?.closeAllConnections();
    await new Promise((resolve) => provider.close(resolve));
  });

  const open = async (path: string): Promise<Page> =>
    openPage(await openContext(browser, platform, { viewport: { width: 1280, height: 900 } }), platform, path);

  void it('creates a connection whose key is never shown again, tests it, and lists its calls', async () => {
    const page = await open('/settings/connections');
    await page.getByRole('button', { name: 'New connection…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('anthropic');
    await dialog.getByLabel('Address of the provider').fill('http://10.0.0.1');
    await dialog.getByLabel('Key of the provider').fill(CREDENTIAL);
    await dialog.getByRole('button', { name: 'Save connection' }).click();
    await dialog.getByRole('alert').first().waitFor();
    await dialog.getByLabel('Address of the provider').fill(providerAddress);
    await dialog.getByRole('button', { name: 'Save connection' }).click();
    await page.getByText(/sealed, fingerprint/).waitFor();
    assert.ok(!(await page.content()).includes(CREDENTIAL));
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByText('The provider accepts the key.').waitFor();
    assert.deepEqual([...keysSeen], [CREDENTIAL]);

    const { key } = await call(platform, 'POST', '/api/keys', { name: 'bot', scopes: ['model'], agents: ['bot'] });
    const answer = await fetch(`${platform.address}/gw/anthropic/agent/bot/run/run-1/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key, 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({
        model: 'claude-haiku-4-5',
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    });
    assert.equal(answer.status, 200, await answer.text());
    await page.goto(`${platform.address}/model-calls`);
    const row = page.getByRole('row', { name: /claude-haiku-4-5/ });
    await row.waitFor();
    assert.match(await row.innerText(), /Whole[\s\S]*bot[\s\S]*anthropic[\s\S]*12 → 34[\s\S]*\$/);
    await row.click();
    const panel = page.getByRole('complementary', { name: 'Model call' });
    await panel.getByText('as the provider reported').waitFor();
    await panel.getByText('end_turn').waitFor();
    const agentFilter = `${platform.address}/model-calls?agent=other`;
    await page.goto(agentFilter);
    await page.getByText('No model calls for this filter.').waitFor();

    await page.goto(`${platform.address}/settings/connections`);
    await page.getByText(/^1 call,/).waitFor();
    await page.getByRole('button', { name: 'Change anthropic' }).click();
    await dialog.getByRole('button', { name: 'Delete connection' }).click();
    await page.getByText('No connections.').waitFor();
    await page.context().close();
  });

  void it('downloads the proof of a run, and shows checkpoint, key and a comparison with the database', async () => {
    const run = await new Agent(platform, { agentId: 'prover', task: 'prove' }).start();
    await run.tries('search', { q: 'x' }, 5);
    await run.ends();
    const decisions = () => call(platform, 'GET', `/api/decisions?runId=${run.runId}`);
    await until(decisions, (answer) => answer.decisions.length === 1);
    const page = await open(`/runs/${run.runId}`);
    await page.getByRole('button', { name: 'Proof' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Collect the evidence' }).click();
    await dialog.getByText(/^agentlens-verify bundle/).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: /^Download/ }).click(),
    ]);
    const evidence = JSON.parse(await readFile(await download.path(), 'utf8'));
    assert.equal(evidence.pending, 0);
    assert.equal(evidence.entries.length, 1);
    assert.equal(evidence.format, 'agentlens-evidence/v1');
    assert.deepEqual(evidence.subject, { kind: 'run', id: run.runId });
    const { key } = await call(platform, 'GET', '/api/log/key');
    const words = [VERIFIER, 'bundle', await download.path(), '--key', key];
    assert.match(execFileSync(process.execPath, words, { encoding: 'utf8' }), /^proven/m);

    await page.goto(`${platform.address}/settings/log`);
    await page.getByText(key, { exact: true }).waitFor();
    await page.getByLabel('Signed note').getByText(/—/).waitFor();
    await page.getByRole('button', { name: 'Compare now' }).click();
    await page.getByText(/entries compared: no difference\./).waitFor();
    await page.context().close();
  });
});
