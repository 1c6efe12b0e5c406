import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { cacheFolder } from '../../../../libs/testing/src/servers/debian-packages.ts';
import { patiently, type Target } from './traffic.ts';

/** How long a page may take for one step. A machine that runs other tests is slow, and a page that hangs is found anyway. */
export const PATIENTLY_MS = 120_000;

const PACKAGE = '@sparticuz/chromium';
const VERSION = '147.0.0';
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const CACHE = join(cacheFolder(), `chromium-${VERSION}`);

/** A real Chromium: the one named, else one on the PATH, else the npm package, which needs nothing of the system. */
export async function openBrowser(): Promise<Browser> {
  const { path, args } = await findChromium();
  return chromium.launch({ executablePath: path, args, headless: true });
}

async function findChromium(): Promise<{ path: string; args: string[] }> {
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const named = process.env.CHROMIUM_PATH;
  if (named !== undefined && named !== '') {
    if (!existsSync(named)) throw new Error(`CHROMIUM_PATH names ${named}, which does not exist`);
    return { path: named, args: sandbox };
  }
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of NAMES) if (existsSync(join(folder, name))) return { path: join(folder, name), args: sandbox };
  }
  return fetched();
}

/** Outside the lockfile of the repository: it is 70 MB that only these tests need. The stamp says that it is whole. */
async function fetched(): Promise<{ path: string; args: string[] }> {
  const stamp = join(CACHE, 'whole');
  if (!existsSync(stamp)) {
    console.log(`No Chromium here: fetching ${PACKAGE} ${VERSION} (about 70 MB, once) ...`);
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(join(CACHE, 'package.json'), '{"private":true,"type":"module"}');
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', `${PACKAGE}@${VERSION}`], {
      cwd: CACHE,
      stdio: 'inherit',
    });
    writeFileSync(stamp, VERSION);
  }
  const main = createRequire(join(CACHE, 'package.json')).resolve(PACKAGE);
  const { default: packaged } = (await import(pathToFileURL(main).href)) as {
    default: { args: string[]; executablePath(): Promise<string> };
  };
  // Its own arguments are for a function without a GPU; those that would hide faults of the page are left out.
  const unwanted =
    /^--(disable-web-security|disable-site-isolation|single-process|no-zygote|allow-running-insecure-content|headless)/;
  return {
    path: await packaged.executablePath(),
    args: [...packaged.args.filter((arg) => !unwanted.test(arg)), '--no-sandbox'],
  };
}

/**
 * Signs a browser in as the console does: the cookie, and the page secret in the storage of the console's origin. It
 * is in place before the first page loads.
 */
export async function signIn(context: BrowserContext, { address, key }: Target): Promise<void> {
  const response = await patiently(
    () =>
      context.request.post(`${address}/api/session`, {
        ...{ data: { key }, headers: { origin: address }, timeout: PATIENTLY_MS },
      }),
    (answer) => answer.status(),
  );
  if (!response.ok()) throw new Error(`signing in failed with ${response.status()}: ${await response.text()}`);
  const { pageSecret } = (await response.json()) as { readonly pageSecret: string };
  await context.addInitScript((secret) => localStorage.setItem('agentlens.page-secret', secret), pageSecret);
}

type ContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>;

/** A context of the browser that is signed in, as wide as a desk and without motion unless the options say otherwise. */
export async function openContext(
  browser: Browser,
  target: Target,
  options: ContextOptions = {},
): Promise<BrowserContext> {
  const viewport = { width: 1280, height: 860 };
  const context = await browser.newContext({ viewport, reducedMotion: 'reduce', ...options });
  await signIn(context, target);
  return context;
}

/** Opens a page of the console and waits until it shows its content. */
export async function openPage(
  context: BrowserContext,
  { address }: Pick<Target, 'address'>,
  path: string,
): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENTLY_MS);
  await page.goto(address + path);
  await page.locator('#main').waitFor();
  return page;
}

const AXE = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** What axe finds serious or critical, with the first place. The context needs `bypassCSP`. */
export async function findViolations(page: Page): Promise<string[]> {
  await page.addScriptTag({ content: AXE });
  return page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: axe is a global of the page
    const { violations } = await (globalThis as any).axe.run();
    return violations
      .filter(({ impact }: { impact: string }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }: { id: string; nodes: { html: string }[] }) => `${id}: ${nodes[0]?.html.slice(0, 160)}`);
  });
}
