import { Agent, type Dispatcher, request } from 'undici';
import { usageOf } from '../../../harness/process-usage.ts';
import { monotonicMs, until } from '../../../harness/time.ts';
import { type Bench, check } from '../../scenario.ts';
import { describeAnswer } from './call-once.ts';
import type { Target } from './peers.ts';

/** A tenant may have 1,000 calls open. */
const STREAMS_OF_TENANT = 1_000;
const OPENED_AT_ONCE = 50;
/** In each round, every stream gets at least one more chunk. The first ones warm up. */
const ROUNDS = 10;
const WARM_UP_ROUNDS = 3;
const WAIT_MS = 120_000;
const BYTES_PER_MB = 1_000_000;
/** More than the garbage of a round, and less than the text that has passed. */
const MAX_GROWTH_MB = 20;

/** Opens 1,000 slow streams of each tenant, and follows the memory of the gateway while they go on. */
export async function measureOpenStreams(bench: Bench, tenants: readonly Target[]): Promise<void> {
  const [first] = tenants;
  if (first === undefined) throw new Error('no tenant was given');
  const count = tenants.length * STREAMS_OF_TENANT;
  bench.progress(`model-gateway: ${count} open streams`);
  const dispatcher = new Agent({ connections: count, bodyTimeout: WAIT_MS });
  const ending = new AbortController();
  const chunks: number[] = [];
  const failures: string[] = [];
  const megabytes = () => usageOf(first.pid).rssBytes / BYTES_PER_MB;
  const idle = megabytes();
  const startedAtMs = monotonicMs();
  try {
    const waiting = tenants.flatMap((target, tenant) =>
      Array.from({ length: STREAMS_OF_TENANT }, (_, at) => ({ target, at: tenant * STREAMS_OF_TENANT + at })),
    );
    const open = async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const { target, at } = next;
        await openStream(target, at, { dispatcher, signal: ending.signal, chunks, failures });
      }
    };
    await Promise.all(Array.from({ length: OPENED_AT_ONCE }, open));
    const sampled: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const before = [...chunks];
      const haveAll = async () => (chunks.every((now, at) => now > (before[at] ?? 0)) ? true : undefined);
      if (failures.length === 0) await until('every stream to go on', haveAll, WAIT_MS);
      if (round >= WARM_UP_ROUNDS) sampled.push(megabytes());
    }
    const [begin = 0] = sampled;
    const grown = (sampled.at(-1) ?? 0) - begin;
    bench.found({
      ...{ scenario: 'model-gateway', variant: 'open streams', shape: 'distributed', unit: 'process', count },
      ...{ seconds: (monotonicMs() - startedAtMs) / 1_000, cpuMicros: {}, latency: {} },
      rssBytes: { 'model-gateway': Math.max(...sampled) * BYTES_PER_MB },
      notes: {
        'RSS idle, open, later': [idle, begin, begin + grown].map((size) => `${size.toFixed(0)} MB`).join(', '),
        'KB per stream': (((begin - idle) * 1_000) / count).toFixed(0),
      },
      checks: [
        check('streams that went on', count, count - failures.length),
        ...failures.slice(0, 3).map((failure) => check(`failed with ${failure}`, 0, 1)),
        check(`memory grows by at most ${MAX_GROWTH_MB} MB`, 1, grown <= MAX_GROWTH_MB ? 1 : 0),
      ],
    });
  } finally {
    ending.abort();
    await dispatcher.destroy();
  }
}

interface Opening {
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  /** Chunks that each stream got. */
  readonly chunks: number[];
  readonly failures: string[];
}

/** Resolves when the stream is open, or failed. */
async function openStream({ url, headers }: Target, at: number, opening: Opening): Promise<void> {
  const { dispatcher, signal, chunks, failures } = opening;
  const answer = await request(url, {
    ...{ method: 'POST', dispatcher, signal, headers: { 'content-type': 'application/json', ...headers } },
    body: JSON.stringify({
      ...{ model: 'slow-endless', stream: true, max_tokens: 1_000 },
      messages: [{ role: 'user', content: `Go on ${at}` }],
    }),
  });
  if (answer.statusCode !== 200) {
    failures.push(describeAnswer(answer.statusCode, await answer.body.text()));
    return;
  }
  chunks[at] = 0;
  answer.body.on('data', () => {
    chunks[at] = (chunks[at] ?? 0) + 1;
  });
  answer.body.on('close', () => {
    if (!signal.aborted) failures.push('an answer that ended');
  });
  answer.body.on('error', (error) => {
    if (!signal.aborted) failures.push(describeAnswer(200, error.message));
  });
}
