import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openBrowser, openContext, openPage } from './support/chromium.ts';
import { type RunningPlatform, startPlatform } from './support/platform.ts';
import { Agent, call, type Json, until } from './support/traffic.ts';

/** A rule that was changed from 5,000 to 5 just after a deploy. */
const RULE = {
  ...{ name: 'Invoices above 5000 EUR', agentId: 'billing-bot', toolNames: ['create_invoice'] },
  ...{ conditionType: 'tool_argument', actionType: 'block', actionConfig: {} },
  conditionConfig: { path: 'eur', type: 'number', operator: 'gt', value: 5_000 },
};
const LIMITS = { scope: 'agent', scopeId: 'research-bot', limits: { maxTokens: 1_000 } };

/** The questions of a person on call, each answered from the page Now in at most two clicks. */
void describe('on call', { timeout: 1_200_000 }, () => {
  let platform: RunningPlatform;
  let browser: Browser;
  let page: Page;
  let receiver: Server;
  let stopped: Agent;
  const api = (method: string, path: string, body?: unknown) => call(platform, method, path, body);

  before(async () => {
    platform = await startPlatform('one process', { AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32' });
    receiver = createServer((_, answer) => void answer.writeHead(204).end());
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const { port } = receiver.address() as AddressInfo;
    const events = ['approvals', 'alerts', 'orders', 'breakers'];
    await api('POST', '/api/webhooks', { name: 'pager', url: `http://127.0.0.1:${port}/`, events });
    await theRule();
    await theBreaker();
    await api('POST', '/api/control', { scope: 'agent', id: 'canary-bot', state: 'killed', reason: 'wrong deploy' });
    await until(
      () => api('GET', '/api/now'),
      ({ unusual, orders, openBreakers }) =>
        unusual.changedRules.length === 1 && orders.length === 1 && openBreakers.length === 1,
    );
    await until(
      () => api('GET', '/api/guardrails/deliveries?result=success'),
      ({ deliveries }) => ['control.order', 'breaker.changed'].every((event) => tells(deliveries, event)),
    );
    browser = await openBrowser();
    page = await openPage(await openContext(browser, platform), platform, '/');
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    receiver?.close();
  });

  const tells = (deliveries: Json[], event: string) => deliveries.some(({ webhook }) => webhook?.event === event);

  /** Invoices pass, then a deploy and a change of the rule, then none does. */
  async function theRule(): Promise<void> {
    const rule = await api('POST', '/api/guardrails', RULE);
    const bill = async (verdict: string) => {
      for (let customer = 1; customer <= 6; customer++) {
        const run = await new Agent(platform, { agentId: 'billing-bot', actor: `customer-${customer}` }).start();
        await until(
          () => run.tries('create_invoice', { eur: 20 + customer }, 5),
          (decision) => decision.verdict === verdict,
        );
        await run.ends();
      }
    };
    await bill('ALLOW');
    await api('POST', '/api/deploys', { agentId: 'billing-bot', version: '3.1.0' });
    await api('PATCH', `/api/guardrails/${rule.id}`, {
      ...{ name: 'Invoices above 50 EUR', conditionConfig: { ...RULE.conditionConfig, value: 5 } },
    });
    await bill('BLOCK');
  }

  async function theBreaker(): Promise<void> {
    await api('PUT', '/api/breakers/limits', LIMITS);
    stopped = await new Agent(platform, { agentId: 'research-bot', actor: 'root' }).start();
    stopped.model('gpt-4o', 900_000, 100, 5.4, 40);
    await stopped.send();
    await until(
      () => api('GET', '/api/breakers'),
      ({ breakers }) => breakers.some(({ scopeId }: Json) => scopeId === stopped.runId),
    );
  }

  const now = () => page.goto(`${platform.address}/`);
  const headline = () => page.locator('.say');
  const region = (name: string | RegExp) => page.getByRole('region', { name });

  void it('says what is wrong, since when and after which deploy, without a click', async () => {
    await now();
    await headline()
      .getByText(/“Invoices above 50 EUR”/)
      .waitFor();
    await headline()
      .getByText(
        /stops 100\s% of its calls since \d\d:\d\d, before 0\s% \(v2 by .+, just after the deploy of 3\.1\.0 of/,
      )
      .waitFor();
    await headline()
      .getByText(/canary-bot is killed|\d more/)
      .first()
      .waitFor();
  });

  void it('shows what changed, and restores it, from the rule', async () => {
    await now();
    await headline().getByRole('link', { name: '“Invoices above 50 EUR”' }).click();
    await page.getByRole('button', { name: 'Restore v1…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog
      .getByText(/more than 5,000/)
      .first()
      .waitFor();
  });

  void it('shows with which arguments, users and runs calls were refused, to be judged in place', async () => {
    await now();
    await headline().getByRole('link', { name: '“Invoices above 50 EUR”' }).click();
    await page.getByText('eur 26').first().waitFor();
    await page.getByRole('link', { name: 'Blocked wrongly?' }).click();
    await page.getByText('Invoices above 50 EUR, version 2').waitFor();
    await page.getByText('customer-6, billing-bot').waitFor();
    await page.getByRole('button', { name: 'All 6 wrong' }).waitFor();
  });

  void it('says who was notified of what', async () => {
    await now();
    await page.getByRole('navigation').getByRole('link', { name: 'Deliveries' }).click();
    const row = (words: string) => page.getByRole('row', { name: new RegExp(`Done.*Notify.*pager.*${words}`) });
    await row('canary-bot: killed').waitFor();
    await row('research-bot: breaker opened').waitFor();
    const { alerts } = await api('GET', '/api/alerts?kind=breaker');
    await page.goto(`${platform.address}/alerts?id=${alerts[0].id}`);
    await region('Who was notified').getByText('pager').waitFor();
    await region('Who was notified').getByText('alert raised').waitFor();
  });

  void it('leads from a spent or broken run to its steps, and from an order to its end', async () => {
    await now();
    const held = region('Paused, killed or tripped');
    await held
      .getByRole('row', { name: /canary-bot/ })
      .getByRole('button', { name: 'Resume…' })
      .click();
    await page.getByRole('dialog').getByText('Resume canary-bot?').waitFor();
    await page.keyboard.press('Escape');
    await held
      .getByRole('row', { name: /research-bot/ })
      .getByRole('button', { name: 'Reset…' })
      .click();
    await page
      .getByRole('dialog')
      .getByText(/^Reset the breaker of run/)
      .waitFor();
    await page.keyboard.press('Escape');
    await held.getByRole('link', { name: /^research-bot, run/ }).click();
    await page.getByText('Breaker open: token').waitFor();
  });

  void it('tells the changes of the incident in words, newest first', async () => {
    await now();
    await page.getByRole('navigation').getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('row', { name: /order given.*canary-bot.*killed · “wrong deploy”/ }).waitFor();
    await page
      .getByRole('row', { name: /rule changed.*Invoices above 50 EUR.*When: .*more than 5,000 → .*more than 5/ })
      .waitFor();
    const { markdown } = await api('GET', '/api/incident');
    assert.match(markdown, /\| order\.given \| .*canary-bot \| .* \| killed \| wrong deploy \|/);
    assert.match(markdown, /\| pager \| canary-bot: killed \| success \|/);
  });

  void it('finds a text once for each run that contains it', async () => {
    const loop = await new Agent(platform, { agentId: 'research-bot' }).start();
    for (let time = 0; time < 8; time++) loop.tool('web_search', { q: 'tidal power' }, 5);
    await loop.send();
    await until(
      () => api('GET', '/api/search/text?text=tidal&limit=50'),
      ({ hits }) => hits.length >= 8,
    );
    await now();
    await headline()
      .getByText(/stops 100\s%/)
      .waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search' }).fill('tidal');
    await page.getByRole('option', { name: /tidal power.*and \d+ more/ }).waitFor();
    assert.equal(await page.getByRole('option', { name: /tidal power/ }).count(), 1);
  });
});
