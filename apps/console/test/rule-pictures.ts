/**
 * Plays the story of docs/rules.md on an empty platform and takes its pictures, into docs/rules.
 *   node apps/console/test/rule-pictures.ts <address> <key>
 */
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { openBrowser, signIn } from './support/chromium.ts';

const [, , address = '', key = ''] = process.argv;
const folder = fileURLToPath(new URL('../../../docs/rules/', import.meta.url));
const RUNS = 60;
const WITHIN_MS = 30_000;
const POLL_MS = 50;
const RULE = {
  ...{ name: 'Payments over 1,000', selector: { tools: ['pay_invoice'] }, conditionType: 'tool_argument' },
  conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value: 1_000 },
  ...{ actionType: 'block', actionConfig: {}, onMissing: 'block', mode: 'shadow' },
};

async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(address + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as T;
}

async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const deadline = performance.now() + WITHIN_MS;
  while (performance.now() < deadline) {
    const found = await ask();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`waited in vain for ${what}`);
}

/** Two agents, because one alone cannot have a rule taken back. */
const AGENTS = ['bookkeeper', 'treasurer'] as const;

/** Runs that pay one invoice each and end well. Every tenth amount is large, or each if `large`. */
async function work(name: string, runs: number, large = false): Promise<void> {
  for (let n = 1; n <= runs; n++) {
    const agentId = AGENTS[n % AGENTS.length] ?? AGENTS[0];
    const runId = `${name}-${n}`;
    await call('POST', `/v1/runs/${runId}/start`, { agentId });
    const args = { invoice: `2026-${1_000 + n}`, amount: large || n % 10 === 0 ? 1_200 + n : 40 + n };
    const tool = { name: 'pay_invoice', tags: ['payment'] };
    await call('POST', `/v1/runs/${runId}/evaluate`, { phase: 'tool.before', agentId, callId: 'pay', tool, args });
    const event = (eventType: string, payload: object) => ({ agentId, sessionId: runId, eventType, payload });
    await call('POST', '/api/events', {
      events: [
        event('tool_call', { callId: 'pay', toolName: 'pay_invoice', arguments: args }),
        event('tool_response', { callId: 'pay', toolName: 'pay_invoice', result: 'paid', durationMs: 210 }),
        event('session_ended', { reason: 'completed' }),
      ],
    });
  }
}

async function picture(page: Page, name: string): Promise<void> {
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: `${folder}${name}.png` });
}

const browser = await openBrowser();
try {
  await work('past', RUNS);
  const { id } = await call<{ id: string }>('POST', '/api/guardrails', RULE);
  const context = await browser.newContext({
    ...{ viewport: { width: 1280, height: 800 }, colorScheme: 'light', reducedMotion: 'reduce' },
  });
  await signIn(context, { address, key });
  const page = await context.newPage();

  await page.goto(`${address}/guardrails/${id}/edit`, { waitUntil: 'load' });
  await page.getByRole('tab', { name: 'Last 7 days' }).click();
  await page.getByRole('button', { name: 'Test on last 7 days' }).click();
  await page.getByText(/^Would have stopped/).waitFor();
  await picture(page, 'backtest');

  await work('shadow', RUNS);
  await until('the calls in shadow', async () => {
    const { asked } = await call<{ asked: number }>('GET', `/api/guardrails/${id}/rollout`);
    return asked >= RUNS ? true : undefined;
  });
  await page.goto(`${address}/guardrails/${id}`, { waitUntil: 'load' });
  await page.getByText('calls asked').waitFor();
  await page.getByRole('button', { name: /^Canary/ }).click();
  await page.getByRole('button', { name: 'Start the canary' }).click();
  await page.getByRole('alert').waitFor();
  await picture(page, 'promote');

  const bound = { maxStopRate: 0.2, windowMinutes: 10, minAsked: 20 };
  await call('PATCH', `/api/guardrails/${id}`, { rollback: bound });
  const promotion = { to: 'canary', percent: 100, force: true, reason: 'Month end is tomorrow' };
  await call('POST', `/api/guardrails/${id}/promote`, promotion);
  await work('month-end', RUNS, true);
  const exceededAt = performance.now();
  await until('the rollback', async () => {
    const { mode } = await call<{ mode: string }>('GET', `/api/guardrails/${id}`);
    return mode === 'shadow' ? true : undefined;
  });
  console.log(`taken back ${((performance.now() - exceededAt) / 1_000).toFixed(1)} s after the last call`);
  await page.goto(`${address}/guardrails/${id}`, { waitUntil: 'load' });
  await page.locator('.hint.bad').first().waitFor();
  await picture(page, 'rollback');
} finally {
  await browser.close();
}
