/**
 * Pictures of every page at 1280 and 390 px, light and dark, into reports/console.
 *   node apps/console/test/screenshots.ts <address> <key> [page ...]
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BrowserContext } from 'playwright-core';
import { openBrowser, signIn } from './support/chromium.ts';
import { pagesOf } from './support/pages.ts';

const [, , address = '', key = '', ...only] = process.argv;
const folder = fileURLToPath(new URL('../../../reports/console/', import.meta.url));
mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
try {
  for (const theme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      const context = await browser.newContext({
        viewport: { width, height: width === 390 ? 844 : 860 },
        colorScheme: theme,
        reducedMotion: 'reduce',
        timezoneId: 'Europe/Berlin',
      });
      await shoot(context, `${width}-${theme}`);
      await context.close();
    }
  }
} finally {
  await browser.close();
}

async function shoot(context: BrowserContext, suffix: string): Promise<void> {
  await signIn(context, { address, key });
  const page = await context.newPage();
  page.on('console', (message) => message.type() === 'error' && console.log(`${suffix}: ${message.text()}`));
  page.on('pageerror', (error) => console.log(`${suffix}: ${error.stack}`));
  for (const { name, path } of await pagesOf({ address, key })) {
    if (only.length > 0 && !only.includes(name)) continue;
    await page.goto(address + path, { waitUntil: 'load' });
    await page.locator('#main').waitFor();
    await page.locator('.live').getByText('Live', { exact: true }).waitFor();
    // The gallery shows the face of loading for good.
    if (name !== 'gallery') await page.locator('.sks').first().waitFor({ state: 'hidden' });
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: `${folder}${name}-${suffix}.png` });
  }
}
