import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import type { LatencySummary } from '../../harness/statistics.ts';
import { until } from '../../harness/time.ts';
import { measureLoad, warmUp } from '../measure-load.ts';
import { seedHistory, seedModelCalls } from '../query-seeds.ts';
import { atEveryMarker } from '../rule-drafts.ts';
import { type Bench, check, type Figure, type FigureCheck, type Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { UsageMeter } from '../usage-meter.ts';

const EVENTS_PER_SECOND = 200;
const JOB_DEADLINE_MS = 600_000;
/** The seeded month, without the last hour, in which the load arrives. */
const RANGE_MS = { from: 30 * DAY_MS, to: HOUR_MS };

interface Job {
  readonly name: string;
  /** Starts the job. @returns the address of its state */
  begin(range: { readonly from: string; readonly to: string }): Promise<string>;
  /** @returns undefined while the job is unfinished */
  finished(state: never): readonly FigureCheck[] | undefined;
}

/** Recalculates the costs of `--rows` stored model calls. */
export const reprices: Scenario = {
  name: 'reprices',
  title: `reprice of stored model calls (--rows) beside ${EVENTS_PER_SECOND} events/s`,
  smoke: false,
  async run(bench) {
    const stage = await bench.freshStage('distributed');
    try {
      await warmedUp(stage, bench, 'reprices');
      const calls = await seedModelCalls(stage.pool, bench.rows, (text) => bench.progress(`reprices: ${text}`));
      await beside(stage, bench, calls, {
        name: 'reprices',
        begin: async (range) => {
          const { id } = await stage.post<{ id: string }>('/api/reprices', { ...range, onlyUnpriced: true }, 201);
          return `/api/reprices/${id}`;
        },
        finished: (job: { state: string; calls: number; changed: number }) =>
          job.state === 'running'
            ? undefined
            : [check('calls priced', calls, job.calls), check('calls with a new cost', calls, job.changed)],
      });
      bench.progress('reprices: comparing the sums');
      await refuseIfSumsDiffer(stage);
    } finally {
      await stage.close();
    }
  },
};

/** Backtests a rule on `--rows` stored events. */
export const backtests: Scenario = {
  name: 'backtests',
  title: `backtest of a rule on stored events (--rows) beside ${EVENTS_PER_SECOND} events/s`,
  smoke: false,
  async run(bench) {
    const stage = await bench.freshStage('distributed');
    try {
      const [ruleId = ''] = await stage.setRules([atEveryMarker('dry run')]);
      await warmedUp(stage, bench, 'backtests');
      const { events } = await seedHistory(stage.pool, ruleId, bench.rows, (text) =>
        bench.progress(`backtests: ${text}`),
      );
      const inRange = await storedBefore(stage, RANGE_MS.to);
      bench.progress(`backtests: ${inRange} of ${events} events are in the range`);
      await beside(stage, bench, inRange, {
        name: 'backtests',
        begin: async (range) => {
          const { id } = await stage.post<{ id: string }>('/api/backtests', { ...range, ruleId }, 202);
          return `/api/backtests/${id}`;
        },
        finished: (job: { status: string; progress: { events: number } }) =>
          job.status === 'queued' || job.status === 'running'
            ? undefined
            : [
                check('backtests that succeeded', 1, job.status === 'succeeded' ? 1 : 0),
                check('events read', inRange, job.progress.events),
              ],
      });
    } finally {
      await stage.close();
    }
  },
};

/** Before the rows are stored, because a warm-up removes what it stored. */
function warmedUp(stage: Stage, bench: Bench, scenario: string): Promise<unknown> {
  return warmUp(stage, { scenario, batchSize: 10, concurrency: 8 }, (text) => bench.progress(text));
}

/** Measures a job while events arrive, and what they wait with it and without it. */
async function beside(stage: Stage, bench: Bench, rows: number, job: Job): Promise<void> {
  const slice = (variant: string) =>
    measureLoad(stage, {
      ...{ scenario: job.name, variant, batchSize: 10, concurrency: 8 },
      ...{ eventsPerSecond: EVENTS_PER_SECOND, seconds: bench.seconds },
    });
  const alone = await slice('events without the job');
  bench.found(alone);
  const meter = new UsageMeter(stage.stack);
  const startedAt = performance.now();
  const now = Date.now();
  const address = await job.begin({
    from: new Date(now - RANGE_MS.from).toISOString(),
    to: new Date(now - RANGE_MS.to).toISOString(),
  });
  const finished = until(
    `the job of ${job.name}`,
    async () => {
      const checks = job.finished(JSON.parse((await stage.get(address)).text) as never);
      return checks && { checks, seconds: (performance.now() - startedAt) / 1000, usage: meter.stop() };
    },
    JOB_DEADLINE_MS,
  );
  let isRunning = true;
  const ended = finished.finally(() => {
    isRunning = false;
  });
  const slices: Figure[] = [];
  while (isRunning) slices.push(await slice('events beside the job'));
  const { checks, seconds, usage } = await ended;
  const slowest = slices.toSorted((one, other) => p99(other) - p99(one))[0];
  bench.found({
    ...{ scenario: job.name, variant: 'rows of the job', shape: 'distributed', unit: 'event', count: rows, seconds },
    cpuMicros: Object.fromEntries(Object.entries(usage.cpuMicros).map(([name, micros]) => [name, micros / rows])),
    latency: {
      'post, alone': latencyOf(alone),
      ...(slowest && { 'post, slowest slice beside it': latencyOf(slowest) }),
    },
    rssBytes: usage.rssBytes,
    checks: [...checks, ...slices.flatMap((one) => one.checks)],
    notes: { slices: slices.length },
  });
}

const latencyOf = ({ latency }: Figure): LatencySummary => latency.post as LatencySummary;
const p99 = (figure: Figure) => latencyOf(figure).p99;

async function storedBefore(stage: Stage, ageMs: number): Promise<number> {
  const { rows } = await stage.pool.query<{ n: number }>(
    `select count(*)::int as n from events where occurred_at < now() - $1 * interval '1 millisecond'
       and occurred_at >= now() - $2 * interval '1 millisecond'`,
    [ageMs, RANGE_MS.from],
  );
  return rows[0]?.n ?? 0;
}

/** @throws if the costs of runs or days are not the sums of the costs of their calls */
async function refuseIfSumsDiffer(stage: Stage): Promise<void> {
  const { rows } = await stage.pool.query<Record<'events' | 'runs' | 'days', string>>(
    `select (select sum(cost_usd) from events where run_id like 'priced-%')::numeric(24,6)::text as events,
       (select sum(cost_usd) from runs where run_id like 'priced-%')::numeric(24,6)::text as runs,
       (select sum(cost_usd) from agent_daily where agent_id like 'priced-%')::numeric(24,6)::text as days`,
  );
  const [sums] = rows;
  if (sums === undefined || sums.events !== sums.runs || sums.events !== sums.days || Number(sums.events) === 0) {
    throw new Error(`after the reprice, the sums differ: ${JSON.stringify(sums)}`);
  }
}
