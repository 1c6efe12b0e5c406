import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { findViolations, openBrowser, openContext, openPage } from './support/chromium.ts';
import { type RunningPlatform, startPlatform } from './support/platform.ts';
import { Agent, call, type Json, until } from './support/traffic.ts';

const RULE = {
  name: 'A run costs more than $1',
  conditionType: 'cost_limit',
  conditionConfig: { maxCostUsd: 1, scope: 'session' },
  actionType: 'raise_alert',
  actionConfig: { severity: 'critical', title: 'A run costs more than $1' },
  cooldownMinutes: 0,
};
const WIDTHS = [1280, 390];

void describe('channels and who was notified', { timeout: 1_200_000 }, () => {
  let platform: RunningPlatform;
  let browser: Browser;
  let receiver: Server;
  let alertId: string;

  before(async () => {
    receiver = createServer((request, response) => {
      request.resume();
      response.writeHead(request.url === '/v2/enqueue' ? 503 : 200).end('not today');
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    platform = await startPlatform('one process', { AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32' });
    const channel = (id: string, config: object) => call(platform, 'PUT', `/api/channels/${id}`, { config });
    await channel('ops', { kind: 'webhook', url: `${url}/ops` });
    await channel('night', { kind: 'webhook', url: `${url}/night` });
    await channel('pager', { kind: 'pagerduty', routingKey: 'k'.repeat(32), url });
    const all = { id: 'all', channels: ['ops', 'pager'], groupBy: ['rule'], groupWait: '0s' };
    const quiet = { id: 'quiet', under: 'all', match: ['team=night'], channels: ['night'] };
    await call(platform, 'PUT', '/api/routes', { routes: [all, quiet] });
    await call(platform, 'POST', '/api/guardrails', RULE);
    const spending = new Agent(platform, { agentId: 'billing-1' });
    await spending.start();
    await spending.model('claude-sonnet-4-5', 100, 100, 5, 10).send();
    alertId = await untilNotified();
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    receiver?.close();
  });

  /** Waits until one channel has accepted the alert and another one has not. */
  async function untilNotified(): Promise<string> {
    const { alerts } = await until(
      () => call(platform, 'GET', '/api/alerts?kind=rule'),
      (answer) => answer.alerts.length > 0,
    );
    const [{ id }] = alerts;
    await until(
      () => call(platform, 'GET', `/api/alerts/${id}/notices`),
      ({ notices }) =>
        ['success', 'retrying'].every((state) => notices.some((one: Json) => one.delivery?.status === state)),
    );
    return id;
  }

  const contextOf = (width: number) =>
    openContext(browser, platform, { viewport: { width, height: 860 }, bypassCSP: true });
  const assertFits = async (page: Page, width: number) => {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `the page is ${wide} px wide`);
    assert.deepEqual(await findViolations(page), []);
  };

  for (const width of WIDTHS) {
    void it(`answers who knows about an alert on one page, ${width} px wide`, async () => {
      const context = await contextOf(width);
      // The link of a message: the list behind it may leave the alert out.
      const page = await openPage(context, platform, `/alerts?id=${alertId}&status=acknowledged`);
      const panel = page.getByRole('complementary', { name: 'Alert' });
      await panel.getByText('A run costs more than $1').first().waitFor();
      const rowOf = (channel: string) => panel.locator('li').filter({ hasText: channel });
      await rowOf('ops').getByText('Accepted').waitFor();
      await rowOf('pager').getByText('Trying again').waitFor();
      await rowOf('pager').getByText('HTTP 503').waitFor();
      await rowOf('pager').getByText('Next attempt').waitFor();
      await rowOf('night').getByText('team=night does not match').waitFor();
      await assertFits(page, width);
      await context.close();
    });

    void it(`shows channels, routes and silences, and tests a channel, ${width} px wide`, async () => {
      const context = await contextOf(width);
      const silence = {
        matchers: ['agent=bot'],
        comment: 'deploy',
        endsAt: new Date(Date.now() + 3_600_000).toISOString(),
      };
      await call(platform, 'POST', '/api/silences', silence);
      const page = await openPage(context, platform, '/channels');
      const card = (name: string) =>
        page.locator('li').filter({ has: page.getByRole('button', { name: 'Send test' }), hasText: name });
      await card('ops').getByText('Works').waitFor();
      await card('pager').getByText('Fails').waitFor();
      await card('night')
        .getByText(width === WIDTHS[0] ? 'Not used yet' : 'Works')
        .waitFor();
      await card('night').getByRole('button', { name: 'Send test' }).click();
      await card('night').getByText('Works').waitFor();
      await page.getByText('team=night', { exact: true }).waitFor();
      await page.getByLabel('Where would an alert go with these labels?').fill('team=night');
      await page.getByText('The route "quiet" leads here').waitFor();
      await assertFits(page, width);
      await page.locator('li').filter({ hasText: 'agent=bot' }).getByRole('button', { name: 'End now' }).click();
      await page.getByText('Nothing is silent.').waitFor();
      await context.close();
    });
  }
});
