import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { AgentLens } from '../../../libs/sdk/src/index.ts';
import { openBrowser, PATIENTLY_MS } from './support/chromium.ts';
import { MODES, type RunningPlatform, startPlatform } from './support/platform.ts';
import { call } from './support/traffic.ts';

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 860 };

/** The first session of a user who has only the printed link. */
for (const mode of MODES) {
  void describe(`a stranger with the printed link, ${mode}`, { timeout: 1_200_000 }, () => {
    let platform: RunningPlatform;
    let browser: Browser;
    let page: Page;
    const problems: string[] = [];

    before(async () => {
      platform = await startPlatform(mode);
      browser = await openBrowser();
      page = await browser.newPage({ viewport: DESK });
      page.setDefaultTimeout(PATIENTLY_MS);
      page.on('pageerror', (error) => problems.push(String(error)));
      page.on(
        'console',
        (message) => message.text().includes('Content Security Policy') && problems.push(message.text()),
      );
    });
    after(async () => {
      await browser?.close();
      await platform?.stop();
    });

    void it('is signed in by the link, once, with no key in the address or in the storage', async () => {
      await page.goto(platform.link);
      await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
      assert.equal(new URL(page.url()).hash, '');
      const kept = await page.evaluate(
        () => JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]) + document.cookie,
      );
      assert.doesNotMatch(kept, /agk_/);
      const again = await browser.newPage();
      await again.goto(platform.link);
      await again.getByText('This sign-in link was used before').waitFor();
      await again.close();
    });

    void it('starts the demo agent and watches it being stopped', async (test) => {
      const began = performance.now();
      await page.getByRole('link', { name: 'Connect an agent, or try the demo' }).click();
      await page.getByRole('button', { name: 'Start the demo agent' }).click();
      await page.waitForURL(/\/runs\/demo-/);
      await page.getByText('1 blocked').waitFor();
      // Published, not asserted: the aim is 60 s.
      test.diagnostic(`first blocked call on the screen after ${((performance.now() - began) / 1000).toFixed(1)} s`);
    });

    void it('finds out why in two clicks', async () => {
      await page.getByRole('button', { name: /Next problem/ }).click();
      await page.getByText('Demo: same search more than 3 times').first().waitFor();
      await page
        .locator('.told')
        .getByText('“This search was already made three times. Use the results you have.”')
        .waitFor();
    });

    void it('writes a rule from the step, tests it against the run, saves it as shadow and promotes it', async () => {
      await page.getByRole('treegrid').getByText('buy_report').first().click();
      await page.getByRole('button', { name: 'Create a rule from this step' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Purchases of 49 or more');
      await page.locator('.trial').getByText('Needs approval').waitFor();
      await page.getByRole('button', { name: 'Save as shadow' }).click();
      await page.waitForURL(/\/guardrails\/[\w-]{20,}$/);
      await page.locator('.top').getByText('Shadow').waitFor();
      await page.getByText(/^Ask a human about calls of buy_report when amount is at least 49, for demo-/).waitFor();
      await page.getByRole('button', { name: 'Enforce…' }).click();
      await page.getByRole('button', { name: 'Enforce it', exact: true }).click();
      await page.getByText(/requires 200/).waitFor();
      await page.getByLabel('Reason').fill('The only tool that costs money');
      await page.getByRole('button', { name: 'Enforce it anyway' }).click();
      await page.locator('.top').getByText('Enforce').waitFor();
    });

    void it('approves the waiting call from a window as small as a phone', async () => {
      await page.setViewportSize(PHONE);
      await page
        .getByRole('navigation', { name: 'Main pages' })
        .getByRole('link', { name: /Approvals/ })
        .click();
      await page.getByRole('button', { name: /Approve once…/ }).click();
      await page.getByRole('dialog').getByText('buy_report').first().waitFor();
      await page.getByRole('button', { name: 'Approve once', exact: true }).click();
      await page.getByText('buy_report approved once').waitFor();
      await page.setViewportSize(DESK);
    });

    void it('kills a run and sees it acknowledged', async () => {
      const lens = await AgentLens.init({
        apiKey: platform.key,
        baseUrl: platform.address,
        agent: { slug: 'runaway' },
      });
      const run = await lens.startRun({});
      try {
        await page.goto(`${platform.address}/runs/${run.id}`);
        await page.getByRole('button', { name: 'Kill…' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel(/^Why/).fill('it loops');
        await dialog.getByRole('button', { name: /^Kill run/ }).click();
        await dialog.getByText(/1 of 1 connected processes killed/).waitFor();
        const { orders } = await call(platform, 'GET', '/api/control');
        assert.deepEqual([orders[0].scopeId, orders[0].state, orders[0].acknowledged], [run.id, 'killed', 1]);
      } finally {
        await lens.shutdown();
      }
    });

    void it('had nothing that the page or its policy complained of', () => {
      assert.deepEqual(problems, []);
    });
  });
}
