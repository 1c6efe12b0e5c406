import type { Platform } from '@agentlens/platform';
import { eventually } from '@agentlens/testing';
import { expect } from '@jest/globals';
import type { Client } from './client.ts';
import type { PlatformUnderTest } from './platform-under-test.ts';

/** The number of rules that an evaluator reports on `/readyz`. */
export async function ruleCountOf(platform: Platform): Promise<number> {
  const { checks } = await platform.health.report();
  const detail = checks['guardrail-evaluator']?.detail as { readonly rules?: number } | undefined;
  return detail?.rules ?? 0;
}

/** Makes rules and waits until every evaluator has loaded them. @returns their ids */
export async function makeRules(
  platform: Pick<PlatformUnderTest, 'ruleCounts'>,
  client: Client,
  rules: readonly object[],
): Promise<string[]> {
  const before = await platform.ruleCounts();
  const ids: string[] = [];
  for (const rule of rules) {
    const made = await client.post('/api/guardrails', rule);
    expect(made).toMatchObject({ status: 201, body: { id: expect.any(String) } });
    ids.push(made.body.id);
  }
  await eventually(async () => {
    const added = (await platform.ruleCounts()).map((count, i) => count - (before[i] ?? 0));
    expect(added).toEqual(before.map(() => rules.length));
  });
  return ids;
}
