import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import pg from 'pg';
import { Pool } from 'undici';
import { usageOf } from '../harness/process-usage.ts';
import { quantile } from '../harness/statistics.ts';

/** A basic operation that the platform does all the time, measured on this machine without the platform. */
export interface Primitive {
  readonly name: string;
  readonly unit: 'CPU µs' | 'ms';
  readonly here: number;
  /** Result on the reference machine that the targets were set on: two quiet cores of a Zen 5, in the same unit. */
  readonly there: number;
  /** The p99, if it bounds a latency of the platform, in the same unit. */
  readonly p99?: number;
}

/** Ratio of the time here to the time on the reference machine. */
export function factor({ here, there }: Primitive): number {
  return here / there;
}

/** Median of the factors; for an even count, the mean of the two in the middle. */
export function medianFactor(primitives: readonly Primitive[]): number {
  const factors = primitives.map(factor).sort((a, b) => a - b);
  const at = (index: number) => factors[index] ?? Number.NaN;
  return (at(Math.floor((factors.length - 1) / 2)) + at(Math.floor(factors.length / 2))) / 2;
}

/** A hundred events of about 400 bytes, as in one request. */
const HUNDRED_EVENTS = JSON.stringify({
  events: Array.from({ length: 100 }, (_, i) => ({
    id: `0198f2c4-7b1a-7c3e-9d2f-${i.toString(16).padStart(12, '0')}`,
    ...{ sessionId: `session-${i % 10}`, agentId: `agent-${i % 7}`, eventType: 'tool_response', severity: 'info' },
    timestamp: '2026-01-01T00:00:00.000Z',
    payload: { callId: `c-${i}`, toolName: 'search_documents', durationMs: 41, result: 'x'.repeat(120) },
    metadata: { model: 'some-model', tokens: { input: 812, output: 96 }, region: 'eu-central' },
  })),
});

/** Durations of many calls, ms. */
interface CallTimes {
  readonly middle: number;
  readonly p99: number;
}

/** Runs calls in sequence for the given time. */
async function callTimes(milliseconds: number, once: () => Promise<unknown>): Promise<CallTimes> {
  const times: number[] = [];
  const until = performance.now() + milliseconds;
  for (let now = performance.now(); now < until; ) {
    await once();
    const after = performance.now();
    times.push(after - now);
    now = after;
  }
  return { middle: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

/** Keeps `count` calls in flight for the given time. Returns how many were answered. */
async function inFlight(count: number, milliseconds: number, once: () => Promise<unknown>): Promise<number> {
  const until = performance.now() + milliseconds;
  let answered = 0;
  const one = async () => {
    while (performance.now() < until) {
      await once();
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: count }, one));
  return answered;
}

const CALLERS = 16;

/** A separate HTTP server process: CPU per request, and the time of one request. */
export async function measureHttp(milliseconds: number): Promise<readonly Primitive[]> {
  const server = fork(fileURLToPath(new URL('./http-sink.ts', import.meta.url)));
  const [{ port }] = (await once(server, 'message')) as [{ readonly port: number }];
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CALLERS });
  const post = (body: string) => async () => {
    const answer = await pool.request({
      ...{ method: 'POST', path: '/', body },
      headers: { 'content-type': 'application/json' },
    });
    await answer.body.dump();
  };
  const cpu = async (body: string) => {
    await inFlight(CALLERS, milliseconds / 2, post(body));
    const before = await cpuOf(server);
    const answered = await inFlight(CALLERS, milliseconds, post(body));
    return ((await cpuOf(server)) - before) / answered;
  };
  try {
    const empty = await cpu('{}');
    const hundred = await cpu(HUNDRED_EVENTS);
    const trip = await callTimes(milliseconds, post('{}'));
    return [
      { name: 'HTTP request, empty', unit: 'CPU µs', here: empty, there: 15.7 },
      { name: 'HTTP request, 100 events parsed', unit: 'CPU µs', here: hundred, there: 147 },
      { name: 'HTTP round trip, one at a time, p50', unit: 'ms', here: trip.middle, there: 0.045 },
    ];
  } finally {
    await pool.close();
    server.disconnect();
  }
}

async function cpuOf(server: ChildProcess): Promise<number> {
  const answer = once(server, 'message') as Promise<[{ readonly cpuMicros: number }]>;
  server.send('used');
  return (await answer)[0].cpuMicros;
}

const STREAM = 'BENCH_PRIMITIVES';
const SUBJECT = 'bench.primitives';
const QUESTION = 'bench.question';

/** A request answered by another connection, and a message of 100 events until it is synced to disk. */
export async function measureNats(url: string, milliseconds: number): Promise<readonly Primitive[]> {
  const [asking, answering] = await Promise.all([connect({ servers: url }), connect({ servers: url })]);
  try {
    answering.subscribe(QUESTION, {
      callback: (_, message) => {
        message.respond();
      },
    });
    await answering.flush();
    const trip = await callTimes(milliseconds, () => asking.request(QUESTION));
    const manager = await jetstreamManager(asking);
    await manager.streams.add({ name: STREAM, subjects: [SUBJECT], storage: StorageType.File });
    try {
      const stream = jetstream(asking);
      const kept = await callTimes(milliseconds, () => stream.publish(SUBJECT, HUNDRED_EVENTS));
      return [
        { name: 'NATS request, one at a time, p50', unit: 'ms', here: trip.middle, there: 0.08 },
        {
          name: 'JetStream publish of 100 events, synced, p50',
          unit: 'ms',
          here: kept.middle,
          there: 0.78,
          p99: kept.p99,
        },
      ];
    } finally {
      await manager.streams.delete(STREAM);
    }
  } finally {
    await Promise.all([asking.close(), answering.close()]);
  }
}

/** The smallest Redis command that writes. */
export async function measureRedis(url: string, milliseconds: number): Promise<readonly Primitive[]> {
  const redis = new Redis(url);
  try {
    let serial = 0;
    const { middle } = await callTimes(milliseconds, () => redis.set(`bench:${serial++}`, '1', 'PX', 10_000, 'NX'));
    return [{ name: 'Redis SET NX, one at a time, p50', unit: 'ms', here: middle, there: 0.059 }];
  } finally {
    redis.disconnect();
  }
}

const ROWS = 500;
const TABLE = `create table bench_primitives (
  tenant_id text not null, id uuid not null, run_id text not null, ts timestamptz not null, payload jsonb not null,
  primary key (tenant_id, id, ts))`;
const INSERT = `insert into bench_primitives
  select * from jsonb_to_recordset($1::jsonb) as b(tenant_id text, id uuid, run_id text, ts timestamptz, payload jsonb)
  on conflict do nothing`;

/** Inserts rows with a payload of 228 bytes in idempotent statements of 500, into a table with three indexes. */
export async function measurePostgres(url: string, milliseconds: number): Promise<readonly Primitive[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(TABLE);
    await client.query('create index on bench_primitives (tenant_id, ts)');
    await client.query('create index on bench_primitives (run_id, ts)');
    const [{ pid } = { pid: 0 }] = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
    const write = (statement: number) => client.query({ name: 'bench', text: INSERT, values: [rows(statement)] });
    let statement = 0;
    for (; statement < 5; statement++) await write(statement);
    const before = usageOf(pid).cpuMicros;
    const first = statement;
    for (const until = performance.now() + milliseconds; performance.now() < until; statement++) await write(statement);
    const here = (usageOf(pid).cpuMicros - before) / ((statement - first) * ROWS);
    return [{ name: 'Postgres, one row of 500', unit: 'CPU µs', here, there: 8.1 }];
  } finally {
    await client.query('drop table if exists bench_primitives');
    await client.end();
  }
}

function rows(statement: number): string {
  return JSON.stringify(
    Array.from({ length: ROWS }, (_, i) => ({
      tenant_id: 'bench',
      id: `0198f2c4-7b1a-7c3e-${(0x8000 + (statement % 0x3fff)).toString(16)}-${(statement * ROWS + i).toString(16).padStart(12, '0')}`,
      run_id: `run-${i % 20}`,
      ts: new Date(1_767_225_600_000 + statement * ROWS + i).toISOString(),
      payload: { toolName: 'search_documents', durationMs: 41, text: 'x'.repeat(170) },
    })),
  );
}

const BLOCK = Buffer.alloc(4_096, 'x');

/** Time to append a block to a file and sync it. Every trigger waits for two such steps in sequence. */
export async function measureDisk(milliseconds: number): Promise<Primitive> {
  const folder = await mkdtemp(join(tmpdir(), 'agentlens-disk-'));
  try {
    const file = await open(join(folder, 'blocks'), 'a');
    try {
      const { middle, p99 } = await callTimes(milliseconds, async () => {
        await file.write(BLOCK);
        await file.datasync();
      });
      return { name: 'file, 4 kB more, synced, p50', unit: 'ms', here: middle, there: 0.086, p99 };
    } finally {
      await file.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
