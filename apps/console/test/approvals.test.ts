import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openBrowser, openContext, PATIENTLY_MS } from './support/chromium.ts';
import { type RunningPlatform, startPlatform } from './support/platform.ts';
import { call } from './support/traffic.ts';

const RULE = {
  name: 'Payments need a human',
  agentId: 'payer',
  toolNames: ['pay'],
  conditionType: 'tool_name',
  conditionConfig: { operator: 'eq', value: 'pay' },
  actionType: 'require_approval',
  actionConfig: { title: 'May it pay?', expiresInSeconds: 900 },
};
const END = 'the last words of the reason';
/** Two megabytes of them: more than the platform keeps of a call. */
const TOO_MANY = 20_000;

void describe('the card of a call that waits', { timeout: 1_200_000 }, () => {
  let platform: RunningPlatform;
  let browser: Browser;

  before(async () => {
    platform = await startPlatform('one process');
    await call(platform, 'POST', '/api/guardrails', RULE);
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
  });

  /** Asks with arguments as text, so that a number keeps its digits. @returns the id of the approval */
  const asked = async (runId: string, args: string): Promise<string> => {
    const { address, key } = platform;
    await call(platform, 'POST', `/v1/runs/${runId}/start`, { agentId: 'payer' });
    const question = `{"phase":"tool.before","agentId":"payer","tool":{"name":"pay"},"callId":"c-${runId}","deadlineMs":5000`;
    const answer = await fetch(`${address}/v1/runs/${runId}/evaluate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: `${question},"args":${args}}`,
    });
    assert.equal(answer.status, 200, await answer.clone().text());
    const { alerts } = await call(platform, 'GET', `/api/alerts?kind=approval&runId=${runId}`);
    assert.equal(alerts.length, 1);
    return alerts[0].id;
  };

  const openedWith = async (key: string, alertId: string, before?: () => void): Promise<Page> => {
    const { address } = platform;
    const page = await (await openContext(browser, { address, key })).newPage();
    if (before !== undefined) await page.addInitScript(before);
    page.setDefaultTimeout(PATIENTLY_MS);
    await page.goto(`${address}/approvals?id=${alertId}`);
    await page.locator('.cardw').waitFor();
    return page;
  };

  void it('shows a long call whole, in the digits it was written in, and what hides in it', async () => {
    const reason = `${'<img src=x onerror="document.title=1"> '.repeat(40)}\u202E${END}`;
    const id = await asked('run-long', `{"amount":9007199254740993,"rate":1.50,"reason":${JSON.stringify(reason)}}`);
    const page = await openedWith(platform.key, id);
    const args = page.locator('.args');
    await args.getByText('9007199254740993').waitFor();
    assert.ok((await args.innerText()).includes(`\\u202e${END}`));
    await args.getByText('1.50', { exact: true }).waitFor();
    assert.equal(await page.locator('main img').count(), 0);
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    await page.getByRole('region', { name: 'Arguments' }).getByText('9007199254740993').waitFor();
    await page.getByRole('button', { name: 'Text', exact: true }).click();
    await page.getByRole('region', { name: 'Arguments as text' }).getByText(END).waitFor();
    await page.keyboard.press('a');
    await page.getByRole('dialog').getByRole('region', { name: 'The call' }).getByText(END).waitFor();
    await page.getByRole('button', { name: 'Approve once', exact: true }).click();
    await page.getByText('pay approved once').waitFor();
    assert.equal((await call(platform, 'GET', `/api/alerts/${id}`)).status, 'approved');
  });

  void it('offers no approval of a call that is not here whole, and says why', async () => {
    const rows = Array.from({ length: TOO_MANY }, (_, row) => ({ row, to: 'x'.repeat(90) }));
    const id = await asked('run-cut', JSON.stringify({ rows }));
    await assert.rejects(call(platform, 'POST', `/api/alerts/${id}/approve`, {}), /409/);
    const page = await openedWith(platform.key, id);
    await page.getByText('This is not the whole call: the call is larger than the platform takes in.').waitFor();
    assert.equal(await page.getByRole('button', { name: /Approve once…/ }).count(), 0);
    await page.keyboard.press('a');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.keyboard.press('d');
    // The reason has the focus, because nothing else can be done first.
    const reason = page.getByLabel('Reason; the agent reads this');
    await reason.waitFor();
    await page.keyboard.type('too much at once');
    assert.equal(await reason.inputValue(), 'too much at once');
    await page.getByRole('button', { name: 'Deny pay' }).click();
    await page.getByText('pay denied').waitFor();
    assert.equal((await call(platform, 'GET', `/api/alerts/${id}`)).status, 'denied');
  });

  void it('is decided by no page without its secret: neither on another port of the host nor on its own', async () => {
    const id = await asked('run-stolen', '{"amount":1}');
    const page = await openedWith(platform.key, id);
    const post = (url: string, secret?: string) =>
      page.evaluate(
        async ([to = '', sent]) => {
          const headers = { 'content-type': 'application/json', ...(sent && { 'x-agentlens-page': sent }) };
          const options = { method: 'POST', credentials: 'include', body: '{}', headers } as const;
          const answer = await fetch(to, options).catch(String);
          return typeof answer === 'string' ? answer : `${answer.status} ${await answer.text()}`;
        },
        [url, secret],
      );
    const status = async () => (await call(platform, 'GET', `/api/alerts/${id}`)).status;
    const path = `/api/alerts/${id}/approve`;
    assert.match(await post(path), /^403 .*page_secret_required/);
    assert.match(await post(path, 'guess'), /^403 .*page_secret_required/);

    const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>other</p>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const { hostname } = new URL(platform.address);
      await page.goto(`http://${hostname}:${port}/`);
      // Without a body and headers of its own, a browser sends it with the cookie and does not ask first.
      const sent = page.waitForResponse((response) => response.url().endsWith(path));
      await page.evaluate(
        (to) => fetch(to, { method: 'POST', mode: 'no-cors', credentials: 'include' }),
        `${platform.address}${path}`,
      );
      // Without the cookie it would be 401.
      assert.equal((await sent).status(), 403);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    assert.equal(await status(), 'pending');
  });

  void it('takes a key that is pressed as soon as the page is there for its own, not for the second of two', async () => {
    const id = await asked('run-quick', '{"amount":1}');
    const page = await openedWith(platform.key, id, () => {
      const now = performance.now.bind(performance);
      // Its first second lasts for minutes.
      performance.now = () => now() / 1_000;
    });
    await page.keyboard.press('d');
    await page.getByRole('dialog', { name: 'Deny this call?' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.waitForURL('**/decisions**');
  });

  void it('shows a key without review what the message says, and which scope it needs', async () => {
    const id = await asked('run-read', JSON.stringify({ amount: 12, note: `${'n'.repeat(600)} ${END}` }));
    const { key } = await call(platform, 'POST', '/api/keys', { name: 'reader', scopes: ['read'] });
    const page = await openedWith(key, id);
    await page.getByText('Reading the whole call needs a key with the scope review.').waitFor();
    await page.locator('.cardw').getByText('"amount":12').waitFor();
    assert.equal(await page.getByText(END).count(), 0);
    const approve = page.getByRole('button', { name: /Approve once…/ });
    assert.equal(await approve.getAttribute('aria-disabled'), 'true');
    assert.match((await approve.getAttribute('title')) ?? '', /scope review/);
  });
});
