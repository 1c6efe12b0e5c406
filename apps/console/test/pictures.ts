/**
 * Takes all pictures of README and documentation, from platforms that this starts and fills, and records for which console:
 *   npm run pictures
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { openBrowser, signIn } from './support/chromium.ts';
import { startPlatform } from './support/platform.ts';
import { aCodingSession, aNight, type Target } from './support/traffic.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const WIDE = { width: 1280, height: 860 };
const PHONE = { width: 390, height: 844 };

interface Picture {
  /** Below docs, without `.png`. */
  readonly name: string;
  readonly path: string;
  readonly size?: { readonly width: number; readonly height: number };
  readonly theme?: 'light' | 'dark';
  /** What is done on the page before the picture. */
  readonly act?: (page: Page) => Promise<void>;
}

async function take(browser: Browser, target: Target, picture: Picture): Promise<void> {
  const { name, path, size = WIDE, theme = 'light', act } = picture;
  const context = await browser.newContext({
    viewport: size,
    colorScheme: theme,
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Berlin',
  });
  await signIn(context, target);
  const page = await context.newPage();
  await page.goto(target.address + path, { waitUntil: 'load' });
  await page.locator('#main').waitFor();
  await page.locator('.live').getByText('Live', { exact: true }).waitFor();
  await page.locator('.sks').first().waitFor({ state: 'hidden' });
  await act?.(page);
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: `${root}docs/${name}.png` });
  await context.close();
  console.log(`docs/${name}.png`);
}

/** Opens a step and what was decided about it. */
function why(step: RegExp) {
  return async (page: Page) => {
    await page.getByText(step).last().click();
    await page.getByRole('tab', { name: 'Why' }).click();
    await page.getByText('The agent received').waitFor();
    // The words of the rules come a moment later.
    await page.getByText(/^Blocked before it ran, by /).waitFor();
  };
}

async function withPlatform(use: (target: Target) => Promise<void>): Promise<void> {
  const platform = await startPlatform('one process');
  try {
    await use(platform);
  } finally {
    await platform.stop();
  }
}

execFileSync(process.execPath, ['apps/console/stamp.mjs', '--check'], { cwd: root, stdio: 'inherit' });
const browser = await openBrowser();
try {
  await withPlatform(async (target) => {
    await take(browser, target, { name: 'console/connect', path: '/connect' });
    const story = [`${root}apps/console/test/rule-pictures.ts`, target.address, target.key];
    execFileSync(process.execPath, story, { stdio: 'inherit' });
  });
  await withPlatform(async (target) => {
    const { runId, ruleIds } = await aNight(target);
    const pictures: readonly Picture[] = [
      { name: 'console/now', path: '/' },
      { name: 'console/run', path: `/runs/${runId}`, theme: 'dark', act: why(/^4 equal calls/) },
      { name: 'console/rules', path: '/guardrails' },
      { name: 'console/rule-editor', path: `/guardrails/${ruleIds.refunds}/edit` },
      { name: 'console/approvals-phone', path: '/approvals', size: PHONE },
    ];
    for (const picture of pictures) await take(browser, target, picture);
  });
  await withPlatform(async (target) => {
    const { runId } = await aCodingSession(target);
    const path = `/runs/${runId}`;
    await take(browser, target, {
      name: 'guard/run',
      path,
      size: { width: 1280, height: 700 },
      act: why(/^(\.env|2 equal calls)/),
    });
  });
} finally {
  await browser.close();
}
// A test compares this with the console that is served.
copyFileSync(`${root}apps/console/built/sources.sha256`, `${root}docs/pictures.sha256`);
