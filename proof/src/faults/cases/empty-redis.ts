import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { until } from '../../harness/time.ts';
import { atMost, equal, holds } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';
import { accountOfLoss } from '../lost-windows.ts';
import { WINDOW_MINUTES } from '../record.ts';
import { recovered } from '../recovery.ts';
import { RuleStatusWatch } from '../rule-status.ts';
import type { Site } from '../site.ts';
import { noneRefused, underLoad } from './under-load.ts';

/** Low enough that everything can be recounted within the allowed 8 s, even on a busy machine. */
const LOAD = { eventsPerSecond: 600, seconds: 300, batchSize: 40 };
const MINUTE_MS = 60_000;
/** An evaluator checks once a second whether the windows exist, and writes states once a second. */
const MARKED_WITHIN_MS = 3_000;
const WHOLE_MS = 10_000;
const WHOLE_DEADLINE_MS = 60_000;
/**
 * Recounting needs a dozen round trips to NATS. With this latency it takes longer than the interval between two states.
 */
const SLOW_NATS_MS = 40;

/** A way for Redis to lose all data. Returns when it did, by the wall clock. */
interface Loss {
  readonly name: string;
  readonly lose: (lab: Lab, site: Site) => Promise<number>;
  /** Slows NATS down, so that recounting takes long enough to be visible in a status. */
  readonly slowly?: true;
}

const flushed: Loss['lose'] = async (_lab, site) => {
  const redis = new Redis(site.stack.redisUrl ?? '');
  try {
    await redis.flushall();
    return Date.now();
  } finally {
    redis.disconnect();
  }
};

/**
 * Kills Redis, deletes its append-only file and starts it again. In a container, whose disk is not accessible, flushes
 * it before the kill.
 */
const restartedEmpty: Loss['lose'] = async (lab, site) => {
  const redis = new Redis(site.stack.redisUrl ?? '');
  const [, folder = ''] = (await redis.config('GET', 'dir')) as string[];
  const files = join(folder, 'appendonlydir');
  const ours = existsSync(files);
  if (!ours) await redis.flushall();
  redis.disconnect();
  const lostAtMs = Date.now();
  await site.server('redis').kill('SIGKILL');
  if (ours) await rm(files, { recursive: true });
  await lab.sleep(lab.between(200, 1_000));
  await site.server('redis').start();
  return lostAtMs;
};

const LOSSES: readonly Loss[] = [
  { name: 'FLUSHALL', lose: flushed },
  { name: 'FLUSHALL, NATS slow', lose: flushed, slowly: true },
  { name: 'restart without its data', lose: restartedEmpty },
];

const emptyRedis: Fault = {
  id: 'F-09',
  title: 'Redis loses all data',
  async run(lab) {
    // A separate platform, because recounting the events of other faults would take longer than allowed.
    const site = await lab.freshSite();
    let degradations = 0;
    const settled = await underLoad(lab, site, {
      // So many errors that every agent is over its limit before and after; so few agents that each is soon evaluated
      // again, because its status does not change before that. Stopped when all is done.
      load: { ...LOAD, errorShare: 0.3, agents: 8 },
      faults: async (load) => {
        const watch = new RuleStatusWatch(site, site.counterRuleId, `${load.label}-`);
        try {
          for (const loss of LOSSES) {
            await lab.sleep(4_000);
            degradations += await undergo(lab, site, loss, watch);
            lab.note(`everything works again ${(await recovered(site, load)).toFixed(0)} ms later`);
          }
          await watch.close();
        } finally {
          watch.stop();
        }
        load.running.stop();
      },
    });
    lab.check(holds('a status reported that it was degraded', degradations > 0, String(degradations), '> 0 times'));
    const { rows } = await site.pool.query<{ refused: number }>(
      `select count(*)::int as refused from guardrail_triggers where agent_id like 'f%' and action_result = 'cooldown'`,
    );
    lab.measure('second actions that the dispatcher rejected', rows[0]?.refused ?? 0, 'triggers');
    const { requests, statuses } = settled.report;
    lab.check(equal('answers other than 201 and 429', 0, requests - (statuses['201'] ?? 0) - (statuses['429'] ?? 0)));
    noneRefused(lab, settled);
  },
};

/** Returns 1 if the rule's status reported that it was degraded. */
async function undergo(lab: Lab, site: Site, { name, lose, slowly }: Loss, watch: RuleStatusWatch): Promise<0 | 1> {
  const nats = slowly === true ? site.proxies.of('nats', 'guardrail-evaluator') : [];
  for (const link of nats) link.mode('latency', SLOW_NATS_MS);
  try {
    const lostAtMs = await lose(lab, site);
    lab.note(name);
    const account = await until(
      'the status of a rule to be whole again',
      async () => {
        const account = accountOfLoss(watch.looks, lostAtMs);
        // A low count is written slightly after it is counted.
        const seenMs = (watch.looks.at(-1)?.atMs ?? 0) - lostAtMs - (account.wholeMs ?? 0);
        return account.wholeMs !== undefined && seenMs > MARKED_WITHIN_MS ? account : undefined;
      },
      WHOLE_DEADLINE_MS,
    );
    const { markedMs, unmarkedMs, wholeMs = 0, longestMs } = account;
    const marking = markedMs === undefined ? 'reported nothing' : `reported degradation after ${markedMs} ms`;
    lab.note(`the rule's status ${marking}, low without being marked for ${unmarkedMs} ms, whole after ${wholeMs} ms`);
    lab.within(`${name}: low values shown without being marked`, MARKED_WITHIN_MS, unmarkedMs);
    lab.within(`${name}: windows are whole again`, WHOLE_MS, wholeMs);
    lab.check(atMost(`${name}: degraded for`, WINDOW_MINUTES, longestMs / MINUTE_MS, 'min'));
    return markedMs === undefined ? 0 : 1;
  } finally {
    for (const link of nats) link.mode('pass');
  }
}

export const EMPTY_REDIS = [emptyRedis];
