import type { Platform } from '@agentlens/platform';
import { eventually } from '@agentlens/testing';
import { expect } from '@jest/globals';
import type { Client } from './client.ts';
import type { PlatformUnderTest } from './platform-under-test.ts';

/** The number of rules that an evaluator reports on `/readyz`. */
export async function ruleCountOf(platform: Platform): Promise<number> {
  return (await readDetail(platform)).rules ?? 0;
}

/** The number of budgets that an evaluator reports on `/readyz`. */
export async function budgetCountOf(platform: Platform): Promise<number> {
  return (await readDetail(platform)).budgets ?? 0;
}

async function readDetail(platform: Platform): Promise<{ readonly rules?: number; readonly budgets?: number }> {
  const { checks } = await platform.health.report();
  return checks['guardrail-evaluator']?.detail ?? {};
}

/** Makes rules and waits until every evaluator has loaded them. @returns their ids */
export async function makeRules(
  platform: Pick<PlatformUnderTest, 'ruleCounts'>,
  client: Client,
  rules: readonly object[],
): Promise<string[]> {
  const ids: string[] = [];
  await untilAllHave(platform.ruleCounts, rules.length, async () => {
    for (const rule of rules) ids.push(await make(client, '/api/guardrails', rule));
  });
  return ids;
}

/** Makes a budget and waits until every evaluator has loaded it. @returns its id */
export async function makeBudget(
  platform: Pick<PlatformUnderTest, 'budgetCounts'>,
  client: Client,
  budget: object,
): Promise<string> {
  let id = '';
  await untilAllHave(platform.budgetCounts, 1, async () => {
    id = await make(client, '/api/budgets', budget);
  });
  return id;
}

async function make(client: Client, path: string, body: object): Promise<string> {
  const made = await client.post(path, body);
  expect(made).toMatchObject({ status: 201, body: { id: expect.any(String) } });
  return made.body.id;
}

async function untilAllHave(
  counts: () => Promise<readonly number[]>,
  more: number,
  change: () => Promise<void>,
): Promise<void> {
  const before = await counts();
  await change();
  await eventually(async () => {
    const added = (await counts()).map((count, i) => count - (before[i] ?? 0));
    expect(added).toEqual(before.map(() => more));
  });
}
