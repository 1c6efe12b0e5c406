import { request } from 'undici';
import type { Stack } from '../harness/stack.ts';
import { until } from './poll.ts';

interface Detail {
  readonly pending?: number;
  readonly unacknowledged?: number;
  readonly rules?: number;
}

/** Details of all checks of all services, from `/readyz`. */
async function details({ services }: Stack): Promise<Detail[]> {
  const reports = await Promise.all(
    services.map(async ({ url }) => {
      const answer = await request(`${url}/readyz`);
      const report = (await answer.body.json()) as { readonly checks: Record<string, { readonly detail?: Detail }> };
      return Object.values(report.checks);
    }),
  );
  return reports.flat().flatMap(({ detail }) => (detail === undefined ? [] : [detail]));
}

/** Messages of events that are pending or unacknowledged, over all consumers. */
export async function backlogOf(stack: Stack): Promise<number> {
  const known = await details(stack);
  return known.reduce((sum, { pending = 0, unacknowledged = 0 }) => sum + pending + unacknowledged, 0);
}

/**
 * Waits until every consumer has processed all accepted events. @throws an error that names `what` after the deadline
 */
export async function digested(stack: Stack, what: string, deadlineMs: number): Promise<void> {
  await until(`${what} to be digested`, async () => ((await backlogOf(stack)) === 0 ? true : undefined), deadlineMs);
}

/** Number of rules that the evaluator has loaded. */
export async function heldRules(stack: Stack): Promise<number | undefined> {
  return (await details(stack)).find(({ rules }) => rules !== undefined)?.rules;
}
