import { recordingServer } from '@agentlens/testing';
import { until } from '../../harness/time.ts';
import { type Bench, check, type Scenario } from '../scenario.ts';
import { DEFAULT_TENANT, type Stage } from '../stage.ts';
import { UsageMeter } from '../usage-meter.ts';
import { measureClicks } from './channels/clicks.ts';

const PER_SECOND = 500;
const CHANNELS = ['hook-1', 'hook-2', 'hook-3', 'hook-4'];
const WARM_UP_ALERTS = 100;
/** Saving the routes ends before the first group is due. */
const GROUP_WAIT_S = 3;
const DEADLINE_MS = 180_000;
/** Nothing is repeated while a round lasts. */
const TIMING = { groupWait: `${GROUP_WAIT_S}s`, groupInterval: '1h', repeat: null };

/** What is left of a round would be moved, and paid for, in the next one. */
const FORGOTTEN = ['alerts', 'notice_groups', 'notice_members', 'notices', 'notice_alerts', 'deliveries'];

interface Round {
  readonly flushes: number;
  /** From the first flush until no group was due. */
  readonly seconds: number;
  /** From the first flush until every receiver had accepted everything. */
  readonly acceptedSeconds: number;
  readonly cpuMicros: Readonly<Record<string, number>>;
  readonly rssBytes: Readonly<Record<string, number>>;
  readonly checks: ReturnType<typeof check>[];
}

/** How fast channels are notified of groups of alerts, and how long a click in a chat waits beside agents that report. */
export const channels: Scenario = {
  name: 'channels',
  title: 'flushes of groups of alerts, and clicks of a chat beside 1,000 events/s',
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('distributed');
    await measureFlushes(bench, stage);
    await measureClicks(bench, stage);
  },
};

/**
 * Every alert is a group of its own in every channel, and all groups are due at once. The alerts are written into the
 * table, because a tenant may raise 30 a minute; saving the routes places them, as it does in production.
 */
async function measureFlushes(bench: Bench, stage: Stage): Promise<void> {
  const receiver = await recordingServer();
  try {
    for (const id of CHANNELS) {
      await stage.put(`/api/channels/${id}`, { config: { kind: 'webhook', url: `${receiver.url}/${id}` } });
    }
    bench.progress('channels: warming up flushes');
    await flushAll(stage, receiver, WARM_UP_ALERTS);
    const alerts = Math.ceil((PER_SECOND * bench.seconds) / CHANNELS.length);
    bench.progress(`channels: ${alerts * CHANNELS.length} groups that are due at once`);
    const round = await flushAll(stage, receiver, alerts);
    bench.found({
      ...{ scenario: 'channels', variant: `${CHANNELS.length} webhooks, all groups due at once` },
      ...({ shape: 'distributed', unit: 'flush', count: round.flushes, seconds: round.seconds } as const),
      cpuMicros: Object.fromEntries(
        Object.entries(round.cpuMicros).map(([name, micros]) => [name, micros / round.flushes]),
      ),
      ...{ latency: {}, rssBytes: round.rssBytes, checks: round.checks },
      notes: {
        'goal, flushes/s': PER_SECOND,
        'accepted by receivers/s': Math.round(round.flushes / round.acceptedSeconds),
      },
    });
  } finally {
    await stage.put('/api/routes', { routes: [{ id: 'all', channels: [] }] });
    await stage.forgetRows(FORGOTTEN);
    for (const id of CHANNELS) await stage.delete(`/api/channels/${id}`);
    await receiver.close();
  }
}

type Receiver = Awaited<ReturnType<typeof recordingServer>>;

async function flushAll(stage: Stage, receiver: Receiver, alerts: number): Promise<Round> {
  await stage.forgetRows(FORGOTTEN);
  await seedAlerts(stage, alerts);
  const before = receiver.requests.length;
  await stage.put('/api/routes', {
    routes: [{ id: 'all', channels: CHANNELS, groupBy: ['agent'], ...TIMING }],
  });
  const meter = new UsageMeter(stage.stack);
  const flushes = alerts * CHANNELS.length;
  try {
    await until('the groups to be flushed', () => hasNone(stage, 'notice_groups', 'last_sent_at is null'), DEADLINE_MS);
    const flushedAtMs = Date.now();
    await until('the deliveries to be accepted', () => hasNone(stage, 'deliveries', 'settled_at is null'), DEADLINE_MS);
    const acceptedAtMs = Date.now();
    const firstAtMs = await readFirstFlush(stage);
    const bodies = receiver.requests.slice(before).map(({ path, headers, body }) => readNotice(path, headers, body));
    return {
      ...{ flushes, seconds: (flushedAtMs - firstAtMs) / 1_000, acceptedSeconds: (acceptedAtMs - firstAtMs) / 1_000 },
      ...meter.stop(),
      checks: [
        check('requests received', flushes, bodies.length),
        check('notices, each with an id of its own', flushes, new Set(bodies.map(({ id }) => id)).size),
        check('alerts shown, once in each channel', flushes, new Set(bodies.flatMap(({ shown }) => shown)).size),
        check('alerts shown in all requests', flushes, bodies.flatMap(({ shown }) => shown).length),
        check('deliveries accepted', flushes, await count(stage, 'deliveries', `result = 'success'`)),
        check('groups that know what they have shown', flushes, await count(stage, 'notice_groups', "shown <> '{}'")),
      ],
    };
  } finally {
    meter.stop();
  }
}

async function seedAlerts({ pool }: Stage, alerts: number): Promise<void> {
  await pool.query(
    `insert into alerts (tenant_id, alert_id, kind, status, severity, title, message, agent_id, rule_id, labels,
       created_at, expires_at, version)
     select $1, 'bench-alert-' || i, 'rule', 'pending', 'warn', 'Alert ' || i, 'Raised for a measurement', 'bench-' || i,
       'bench', jsonb_build_object('kind', 'rule', 'severity', 'warn', 'agent', 'bench-' || i, 'rule', 'bench'),
       date_trunc('milliseconds', now()), date_trunc('milliseconds', now() + interval '1 day'), 1
     from generate_series(1, $2::int) i`,
    [DEFAULT_TENANT, alerts],
  );
}

async function hasNone(stage: Stage, table: string, condition: string): Promise<true | undefined> {
  return (await count(stage, table, condition)) === 0 ? true : undefined;
}

async function count({ pool }: Stage, table: string, condition: string): Promise<number> {
  const { rows } = await pool.query<{ rows: number }>(`select count(*)::int as rows from ${table} where ${condition}`);
  return rows[0]?.rows ?? 0;
}

async function readFirstFlush({ pool }: Stage): Promise<number> {
  const { rows } = await pool.query<{ at: Date | null }>('select min(at) as at from notices');
  return rows[0]?.at?.getTime() ?? Number.NaN;
}

function readNotice(path: string, headers: Receiver['requests'][number]['headers'], body: string) {
  const { data } = JSON.parse(body) as { readonly data: { readonly firing: readonly { readonly id: string }[] } };
  return { id: String(headers['webhook-id']), shown: data.firing.map(({ id }) => `${path} ${id}`) };
}
