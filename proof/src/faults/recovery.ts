import { backlogOf } from '../bench/progress.ts';
import { until } from '../harness/time.ts';
import type { Load } from './load.ts';
import { countsOf } from './record.ts';
import type { Site } from './site.ts';

const DEADLINE_MS = 60_000;
/** Messages in progress on a platform that keeps up with its load. */
const IN_HAND = 20;
const SAMPLE_MS = 100;
/** If every second request is lost, this many successes in a row are very unlikely. */
const IN_A_ROW = 8;

/**
 * Under load: milliseconds until events are stored and triggers carried out again, and only messages in progress wait.
 * Tolerates services that do not respond meanwhile.
 */
export async function recovered(site: Site, load: Load): Promise<number> {
  const since = performance.now();
  const start = await asked(() => countsOf(site.pool, load.label));
  await until(
    'the platform to recover',
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

/** Under load: milliseconds until the first event is stored and the first trigger recorded. */
export async function resumed(site: Site, load: Load): Promise<number> {
  const since = performance.now();
  const start = await asked(() => countsOf(site.pool, load.label));
  await until(
    'the platform to resume',
    async () => {
      const now = await countsOf(site.pool, load.label).catch(() => undefined);
      return now !== undefined && now.events > start.events && now.triggers > start.triggers ? true : undefined;
    },
    DEADLINE_MS,
  );
  return performance.now() - since;
}

/** Milliseconds until commands are answered again, several in a row. */
export async function answering(site: Site): Promise<number> {
  const since = performance.now();
  await until(
    'commands to be answered',
    async () => {
      for (let asked = 0; asked < IN_A_ROW; asked++) {
        // The owner of budgets rejects an empty one, so this is an answer.
        const { status, text } = await site.post(site.stack.queryUrl, '/api/budgets', {});
        if (status === 503) return undefined;
        if (status !== 400) throw new Error(`an empty budget returned ${status} ${text}`);
      }
      return true;
    },
    DEADLINE_MS,
  );
  return performance.now() - since;
}

/**
 * Under load: the longest time, ms, in which no event was stored or no trigger recorded, until the backlog is
 * processed.
 */
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
