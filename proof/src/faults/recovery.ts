import { until } from '../bench/poll.ts';
import { backlogOf } from '../bench/readiness.ts';
import type { Load } from './load.ts';
import { countsOf } from './record.ts';
import type { Site } from './site.ts';

const DEADLINE_MS = 60_000;
/** Messages in hand of a platform that keeps up with its load. */
const IN_HAND = 20;
const SAMPLE_MS = 100;
/** Where every second one is lost, so many in a row hardly ever come through. */
const IN_A_ROW = 8;

/**
 * While load goes on: milliseconds until events are stored and triggers carried out again and nothing but what is in
 * hand waits. Tolerates services that do not answer meanwhile.
 */
export async function recovered(site: Site, load: Load): Promise<number> {
  const since = performance.now();
  const start = await asked(() => countsOf(site.pool, load.label));
  await until(
    'the platform to go on',
    async () => {
      const now = await countsOf(site.pool, load.label).catch(() => undefined);
      if (now === undefined) return undefined;
      const enough = start.events + load.plan.eventsPerSecond / 4;
      if (now.events < enough || now.triggers <= start.triggers) return undefined;
      return (await backlogOf(site.stack).catch(() => Number.POSITIVE_INFINITY)) <= IN_HAND ? true : undefined;
    },
    DEADLINE_MS,
  );
  return performance.now() - since;
}

/** While load goes on: milliseconds until the first event is stored and the first trigger recorded. */
export async function resumed(site: Site, load: Load): Promise<number> {
  const since = performance.now();
  const start = await asked(() => countsOf(site.pool, load.label));
  await until(
    'the platform to go on',
    async () => {
      const now = await countsOf(site.pool, load.label).catch(() => undefined);
      return now !== undefined && now.events > start.events && now.triggers > start.triggers ? true : undefined;
    },
    DEADLINE_MS,
  );
  return performance.now() - since;
}

/** Milliseconds until questions over request and reply are answered again, several in a row by whoever owns them. */
export async function answering(site: Site): Promise<number> {
  const since = performance.now();
  await until(
    'commands to be answered',
    async () => {
      for (let asked = 0; asked < IN_A_ROW; asked++) {
        // Refused by the owner of budgets: an empty one is none.
        const { status, text } = await site.post(site.stack.queryUrl, '/api/budgets', {});
        if (status === 503) return undefined;
        if (status !== 400) throw new Error(`an empty budget was answered ${status} ${text}`);
      }
      return true;
    },
    DEADLINE_MS,
  );
  return performance.now() - since;
}

/** While load goes on: the longest time, ms, in which no event was stored or no trigger recorded, until all is caught up. */
export async function standstill(site: Site, load: Load): Promise<number> {
  let over = false;
  let longest = 0;
  const watching = (async () => {
    let last = await asked(() => countsOf(site.pool, load.label));
    const since = { events: performance.now(), triggers: performance.now() };
    while (!over) {
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
      const now = await countsOf(site.pool, load.label);
      for (const what of ['events', 'triggers'] as const) {
        longest = Math.max(longest, performance.now() - since[what]);
        if (now[what] > last[what]) since[what] = performance.now();
      }
      last = now;
    }
  })();
  await recovered(site, load).finally(() => {
    over = true;
  });
  await watching;
  return longest;
}

function asked<T>(ask: () => Promise<T>): Promise<T> {
  return until('Postgres to answer', () => ask().catch(() => undefined), DEADLINE_MS);
}
