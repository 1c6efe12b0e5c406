import { Latencies } from '../../harness/statistics.ts';
import { until } from '../../harness/time.ts';
import { measureLoad } from '../measure-load.ts';
import { postPatiently } from '../post-patiently.ts';
import { backlogOf } from '../progress.ts';
import { type Figure, isSound, serverCpu } from '../scenario.ts';
import { type Way, waysOf } from '../scenarios/decisions/ways.ts';
import { BATCH, spansOf } from '../scenarios/otlp.ts';
import type { Stage } from '../stage.ts';
import { UsageMeter } from '../usage-meter.ts';

/** What one unit of work costs under a load. */
export interface LoadCost {
  readonly count: number;
  /** CPU microseconds per unit: of the platform's own processes, and of the servers beside them. */
  readonly platformMicros: number;
  readonly serverMicros: number;
  readonly perSecond: number;
  /** Milliseconds of one request. */
  readonly p50: number;
  readonly p99: number;
  /** Peak resident memory of the platform's own processes. */
  readonly rssBytes: number;
}

/** A load under which builds are compared. */
export interface LoadShape {
  readonly name: string;
  readonly unit: 'event' | 'decision';
  /** Measured only if it is named: the last release does not take it. */
  readonly isExtra?: boolean;
  /** @param settled waits for work that follows, so that its cost counts too; used for decisions */
  measure(stage: Stage, seconds: number, settled?: () => Promise<void>): Promise<LoadCost>;
}

const DRAIN_DEADLINE_MS = 60_000;

/** One process does all the work, so nothing moves from one process to another unnoticed. */
export const SHAPES: readonly LoadShape[] = [
  events('events-100', 100, 16),
  events('events-3', 3, 16),
  events('events-1', 1, 16),
  decisions('decisions', 1),
  decisions('decisions-16', 16),
  spans('spans-100', 2),
];

/** Batches of an OpenTelemetry exporter, each of model calls of one trace. */
function spans(name: string, concurrency: number): LoadShape {
  return {
    ...{ name, unit: 'event', isExtra: true },
    async measure(stage, seconds) {
      const agentId = `${name}-${++serial}-agent-1`;
      const latencies = new Latencies();
      const meter = new UsageMeter(stage.stack);
      let count = 0;
      try {
        const startedAt = performance.now();
        const untilMs = startedAt + seconds * 1000;
        const sender = async () => {
          while (performance.now() < untilMs) {
            const sentAt = performance.now();
            await postPatiently(stage, '/v1/traces', spansOf(agentId, true));
            latencies.record((performance.now() - sentAt) * 1000);
            count += BATCH;
          }
        };
        await Promise.all(Array.from({ length: concurrency }, sender));
        await until(
          `${count} spans to be stored and evaluated`,
          async () =>
            (await countStored(stage, agentId)) === count && (await backlogOf(stage.stack)) === 0 ? true : undefined,
          DRAIN_DEADLINE_MS,
        );
        const sentSeconds = (performance.now() - startedAt) / 1000;
        const { cpuMicros, rssBytes } = meter.stop();
        const each = Object.fromEntries(Object.entries(cpuMicros).map(([server, micros]) => [server, micros / count]));
        await stage.forgetEvents();
        const { p50, p99 } = latencies.summary();
        return { ...costOf({ count, seconds: sentSeconds, cpuMicros: each, rssBytes }), p50, p99 };
      } finally {
        meter.stop();
      }
    },
  };
}

async function countStored({ pool }: Stage, agentId: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::int as count from events where agent_id = $1',
    [agentId],
  );
  return rows[0]?.count ?? 0;
}

function events(name: string, batchSize: number, concurrency: number): LoadShape {
  return {
    ...{ name, unit: 'event' },
    async measure(stage, seconds) {
      const figure = await measureLoad(stage, { scenario: name, variant: '', batchSize, concurrency, seconds });
      if (!isSound(figure)) {
        const wrong = figure.checks.filter(({ expected, actual }) => expected !== actual);
        throw new Error(wrong.map((one) => `${one.name}: expected ${one.expected}, found ${one.actual}`).join('; '));
      }
      await stage.forgetEvents();
      const { post } = figure.latency;
      return { ...costOf(figure), p50: post?.p50 ?? Number.NaN, p99: post?.p99 ?? Number.NaN };
    },
  };
}

function decisions(name: string, inFlight: number): LoadShape {
  return {
    ...{ name, unit: 'decision' },
    async measure(stage, seconds, settled) {
      const [way] = waysOf(stage, { emptyUrl: stage.stack.ingestUrl }, inFlight);
      if (way === undefined) throw new Error('there is no way to ask');
      const before = await recordedDecisions(stage);
      const meter = new UsageMeter(stage.stack);
      try {
        const startedAt = performance.now();
        const { asked, latencies } = await ask(way, inFlight, startedAt + seconds * 1000);
        const sentSeconds = (performance.now() - startedAt) / 1000;
        await until(
          `${asked} decisions to be recorded`,
          async () => ((await recordedDecisions(stage)) >= before + asked ? true : undefined),
          DRAIN_DEADLINE_MS,
        );
        await settled?.();
        const { cpuMicros, rssBytes } = meter.stop();
        const each = Object.fromEntries(Object.entries(cpuMicros).map(([server, micros]) => [server, micros / asked]));
        const { p50, p99 } = latencies.summary();
        return { ...costOf({ count: asked, seconds: sentSeconds, cpuMicros: each, rssBytes }), p50, p99 };
      } finally {
        meter.stop();
        await way.close?.();
      }
    },
  };
}

let serial = 0;

async function ask(way: Way, inFlight: number, untilMs: number) {
  const latencies = new Latencies();
  let asked = 0;
  const caller = async () => {
    while (performance.now() < untilMs) {
      serial += 1;
      const sentAt = performance.now();
      if (!(await way.ask(serial))) throw new Error('a call was not allowed');
      latencies.record((performance.now() - sentAt) * 1000);
      asked += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  return { asked, latencies };
}

async function recordedDecisions({ pool }: Stage): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('select count(*)::int as count from decisions');
  return rows[0]?.count ?? 0;
}

const SERVERS: ReadonlySet<string> = new Set(['postgres', 'nats', 'redis']);

function costOf(figure: Pick<Figure, 'count' | 'seconds' | 'cpuMicros' | 'rssBytes'>) {
  const { count, seconds, cpuMicros, rssBytes } = figure;
  const all = serverCpu(figure);
  const serverMicros = Object.entries(cpuMicros).reduce((sum, [name, one]) => (SERVERS.has(name) ? sum + one : sum), 0);
  const ofPlatform = Object.entries(rssBytes).filter(([name]) => !SERVERS.has(name));
  return {
    ...{ count, serverMicros, platformMicros: all - serverMicros, perSecond: count / seconds },
    rssBytes: ofPlatform.reduce((sum, [, bytes]) => sum + bytes, 0),
  };
}
