import { gzipSync } from 'node:zlib';
import { Pool } from 'undici';
import type { Bench, Scenario } from '../scenario.ts';
import { UsageMeter } from '../usage-meter.ts';
import { caller, measure } from './decisions/neighbours.ts';
import { TEN } from './decisions/one-at-a-time.ts';

const WARM_UP = 200;
/** Hostile requests in flight. */
const IN_FLIGHT = 4;
/** Limit for the p99 of a decision. */
const MAX_TIMES_SLOWER = 3;
const ARGS = { query: 'weather in Bern' };

interface HostileRequest {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** How long one tenant waits for its decisions while another sends small requests that are expensive to parse. */
export const hostile: Scenario = {
  name: 'hostile',
  title: 'decisions of one tenant beside hostile requests of another: empty spans in a gzip, bodies of keys only',
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('distributed');
    bench.progress('hostile: decisions beside requests that are expensive to parse');
    await stage.setRules(TEN);
    const [hostileKey = ''] = await stage.tenantsWithRules(1);
    const quiet = caller(stage, stage.stack.key, ARGS);
    for (let i = 0; i < WARM_UP; i++) await quiet.ask();
    const meter = new UsageMeter(stage.stack);
    const startedAt = performance.now();
    const alone = await measure(quiet, bench.seconds);
    const flood = new Flood(stage.stack.ingestUrl, hostileKey);
    flood.start();
    const beside = await measure(quiet, bench.seconds);
    await flood.stop();
    const seconds = (performance.now() - startedAt) / 1_000;
    const { cpuMicros, rssBytes } = meter.stop();
    await quiet.close();
    const count = alone.asked + beside.asked;
    const latency = { alone: alone.latencies.summary(), beside: beside.latencies.summary() };
    const timesSlower = latency.beside.p99 / latency.alone.p99;
    bench.found({
      ...({ scenario: 'hostile', variant: 'decisions beside hostile requests', shape: 'distributed' } as const),
      ...({ unit: 'request', count, seconds, latency, rssBytes } as const),
      cpuMicros: Object.fromEntries(Object.entries(cpuMicros).map(([name, micros]) => [name, micros / count])),
      checks: [
        { name: 'answers other than ALLOW', expected: 0, actual: alone.refused + beside.refused },
        { name: 'hostile requests answered with 5xx other than 503', expected: 0, actual: flood.failed },
      ],
      notes: {
        'beside : alone, p99': timesSlower.toFixed(1),
        [`p99 within ${MAX_TIMES_SLOWER} times that alone`]: timesSlower <= MAX_TIMES_SLOWER ? 'met' : 'missed',
        'hostile requests answered': flood.answered,
      },
    });
  },
};

class Flood {
  answered = 0;
  failed = 0;
  readonly #pool: Pool;
  readonly #key: string;
  readonly #requests = hostileRequests();
  #isOver = false;
  #running: Promise<void> | undefined;

  constructor(url: string, key: string) {
    this.#pool = new Pool(url, { connections: IN_FLIGHT });
    this.#key = key;
  }

  start(): void {
    this.#running = Promise.all(Array.from({ length: IN_FLIGHT }, (_, first) => this.#send(first))).then(
      () => undefined,
    );
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await this.#pool.close();
  }

  async #send(first: number): Promise<void> {
    for (let next = first; !this.#isOver; next++) {
      const { path, headers, body } = this.#requests[next % this.#requests.length] as HostileRequest;
      const authorization = `Bearer ${this.#key}`;
      const answer = await this.#pool.request({ method: 'POST', path, headers: { ...headers, authorization }, body });
      await answer.body.dump();
      this.answered += 1;
      if (answer.statusCode >= 500 && answer.statusCode !== 503) this.failed += 1;
    }
  }
}

function hostileRequests(): readonly HostileRequest[] {
  const json = { 'content-type': 'application/json' };
  const protobuf = { 'content-type': 'application/x-protobuf' };
  const keys = `{${Array.from({ length: 300_000 }, (_, index) => `"k${index}":1`).join()}}`;
  const emptySpans = spans(Buffer.alloc(4_000_000, Buffer.from([0x12, 0x00])));
  const question = { phase: 'tool.before', agentId: 'hostile', tool: { name: 'search' }, args: '?' };
  return [
    { path: '/v1/traces', headers: { ...protobuf, 'content-encoding': 'gzip' }, body: gzipSync(emptySpans) },
    { path: '/v1/traces', headers: protobuf, body: emptySpans },
    { path: '/api/events', headers: json, body: Buffer.from(keys) },
    {
      path: '/v1/runs/hostile/evaluate',
      headers: json,
      body: Buffer.from(JSON.stringify(question).replace('"?"', keys)),
    },
  ];
}

/** An ExportTraceServiceRequest of one scope with these spans. */
function spans(bytes: Buffer): Buffer {
  const block = (field: number, value: Buffer) => {
    const length: number[] = [];
    let left = value.length;
    for (; left >= 0x80; left = Math.floor(left / 128)) length.push((left & 0x7f) | 0x80);
    return Buffer.concat([Buffer.from([(field << 3) | 2, ...length, left]), value]);
  };
  return block(1, block(2, bytes));
}
