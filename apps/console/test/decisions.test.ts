import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openBrowser, openContext, PATIENTLY_MS } from './support/chromium.ts';
import { type RunningPlatform, startPlatform } from './support/platform.ts';
import { Agent, call, type Json, until } from './support/traffic.ts';

void describe('who decided, and the tree of a run, in five processes', { timeout: 1_200_000 }, () => {
  let platform: RunningPlatform;
  let browser: Browser;
  let page: Page;

  before(async () => {
    platform = await startPlatform('five processes', { AGENTLENS_DECISION_PATH: 'gateway' });
    browser = await openBrowser();
    page = await (await openContext(browser, platform)).newPage();
    page.setDefaultTimeout(PATIENTLY_MS);
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
  });

  const api = (method: string, path: string, body?: unknown) => call(platform, method, path, body);
  const decisionsOf = (runId: string) => api('GET', `/api/decisions?runId=${runId}&limit=100`);

  void it('says on the page of a call that the gateway decided, and by which rules', async () => {
    const run = await new Agent(platform, { agentId: 'shopper' }).start();
    await until(
      async () => {
        await run.tries('search', {}, 5);
        return decisionsOf(run.runId);
      },
      ({ decisions }) => decisions.some(({ decider }: Json) => decider?.by === 'gateway'),
    );
    await run.send();
    const { decisions } = await decisionsOf(run.runId);
    const decided = decisions.find(({ decider }: Json) => decider?.by === 'gateway');
    await page.goto(`${platform.address}/runs/${run.runId}?step=${encodeURIComponent(decided.callId)}&tab=why`);
    await page.getByText(`At the gateway, rules as of version ${decided.decider.book.slice(0, 12)}`).waitFor();
  });

  void it('names the rule that keeps calls from the gateway, with advice', async () => {
    const rule = await api('POST', '/api/guardrails', {
      ...{ name: 'A thousand calls', conditionType: 'max_calls', conditionConfig: { max: 1_000 } },
      actionType: 'block',
    });
    const run = await new Agent(platform, { agentId: 'shopper' }).start();
    await until(
      async () => {
        await run.asks('look', {});
        return api('GET', '/api/decision-paths');
      },
      ({ asked }) => asked.some(({ ruleId }: Json) => ruleId === rule.id),
    );
    await page.goto(`${platform.address}/system`);
    const section = page.getByRole('region', { name: 'Where calls are decided' });
    const row = section.getByRole('row', { name: /a rule needs earlier calls or agent tags: A thousand calls/ });
    await row.getByText('"A thousand calls" counts every call. Name the tools that it counts.').waitFor();
    assert.match((await section.locator('.kv').textContent()) ?? '', /At gateways\d+.*%\)At the evaluator\d+.*%\)/);
    await api('DELETE', `/api/guardrails/${rule.id}`);
  });

  void it('shows the tree of a run with its cost, and says how many runs a stop covers', async () => {
    const parent = await new Agent(platform, { agentId: 'planner' }).start();
    parent.model('claude-sonnet-4-5', 1_000, 100, 0.5, 5);
    await parent.send();
    const child = await new Agent(platform, { agentId: 'reader', parentRunId: parent.runId }).start();
    child.model('claude-sonnet-4-5', 1_000, 100, 0.25, 5);
    await child.send();
    await until(
      () => api('GET', '/api/runs?agentId=planner'),
      (found) => found.runs.length > 0,
    );
    const tree = () => api('GET', `/api/runs/${parent.runId}/tree`);
    await until(tree, ({ runs }) => runs[0]?.rolledUp.costUsd === 0.75);
    await page.goto(`${platform.address}/runs/${child.runId}?view=tree`);
    const runs = page.getByRole('region', { name: 'Runs' });
    await runs.getByRole('row', { name: /^planner.*0\.500.*0\.750$/ }).waitFor();
    await runs.getByRole('row', { name: /^reader.*0\.250$/ }).waitFor();
    await runs.getByRole('row', { name: /^Total.*0\.750$/ }).waitFor();
    await runs.getByRole('link', { name: /^planner/ }).click();
    await page.getByRole('button', { name: 'Kill…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 runs, 2 running').waitFor();
    await dialog.getByRole('button', { name: 'Keep it running' }).click();
  });

  void it('shows the first cause of a label, and clears it with a reason', async () => {
    await api('POST', '/api/guardrails', {
      ...{ name: 'No mail after customer data', conditionType: 'data_flow', actionType: 'block' },
      conditionConfig: { after: [{ tools: ['read_customer'] }], label: 'customer-data' },
      selector: { tools: ['send_mail'] },
    });
    const parent = await new Agent(platform, { agentId: 'planner' }).start();
    const child = await new Agent(platform, { agentId: 'crm', parentRunId: parent.runId }).start();
    await parent.send();
    const labels = () => api('GET', `/api/runs/${parent.runId}/labels`);
    await until(
      async () => {
        await child.tries('read_customer', {}, 5);
        await child.send();
        return labels();
      },
      (answer) => answer.labels.length === 1,
    );
    await page.goto(`${platform.address}/runs/${parent.runId}`);
    await page.getByRole('link', { name: 'customer-data' }).click();
    const section = page.getByRole('region', { name: 'Labels' });
    await section.getByText(/first set by read_customer of crm in/).waitFor();
    await section.getByRole('button', { name: 'Clear the label customer-data' }).click();
    const dialog = page.getByRole('dialog');
    const clear = dialog.getByRole('button', { name: 'Clear label' });
    assert.equal(await clear.getAttribute('aria-disabled'), 'true');
    await dialog.getByLabel('Why; recorded in the audit log').fill('reviewed by hand');
    await clear.click();
    await section.getByText(/^No labels\./).waitFor();
    assert.deepEqual((await labels()).labels, []);
    const { entries } = await api('GET', '/api/audit?limit=50');
    assert.match(JSON.stringify(entries), /reviewed by hand/);
  });

  void it('does not offer to clear a label without the scope', async () => {
    const parent = await new Agent(platform, { agentId: 'crm' }).start();
    await until(
      async () => {
        await parent.tries('read_customer', {}, 5);
        await parent.send();
        return api('GET', `/api/runs/${parent.runId}/labels`);
      },
      (answer) => answer.labels.length === 1,
    );
    const { key } = await api('POST', '/api/keys', { name: 'reader', scopes: ['read'] });
    const context = await openContext(browser, { address: platform.address, key });
    const reading = await context.newPage();
    await reading.goto(`${platform.address}/runs/${parent.runId}?view=tree`);
    const clear = reading.getByRole('button', { name: 'Clear the label customer-data' });
    await clear.waitFor();
    assert.equal(await clear.getAttribute('aria-disabled'), 'true');
    assert.match((await clear.getAttribute('title')) ?? '', /scope review/);
  });
});
