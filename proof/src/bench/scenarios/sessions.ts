import { request } from 'undici';
import { Latencies, median } from '../../harness/statistics.ts';
import { type Bench, check, type Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { UsageMeter } from '../usage-meter.ts';

const AT_ONCE = 4;
/** The first round is a warm-up and does not count. */
const ROUNDS = 6;
/** A session may cost so much more than a key. */
const MOST = 1.2;

interface Way {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly micros: number[];
  readonly latencies: Latencies;
}

/** What checking a browser session costs, beside a key: the cheapest read, in turns. */
export const sessions: Scenario = {
  name: 'sessions',
  title: 'CPU of a read with a browser session, beside the same read with its key',
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('distributed');
    const key = newWay('key', { authorization: `Bearer ${stage.stack.key}` });
    const session = newWay('session', { cookie: await signIn(stage) });
    const startedAt = performance.now();
    let count = 0;
    for (let round = 0; round <= ROUNDS; round++) {
      for (const way of round % 2 === 0 ? [key, session] : [session, key]) {
        bench.progress(`sessions: round ${round} with a ${way.name}`);
        count += await ask(stage, way, (bench.seconds * 1_000) / 2, round > 0);
      }
    }
    const ratio = median(session.micros) / median(key.micros);
    bench.found({
      ...{ scenario: 'sessions', variant: 'in turn', shape: 'distributed', unit: 'request', count },
      seconds: (performance.now() - startedAt) / 1_000,
      cpuMicros: { 'query, key': median(key.micros), 'query, session': median(session.micros) },
      latency: { 'with a key': key.latencies.summary(), 'with a session': session.latencies.summary() },
      rssBytes: {},
      checks: [check(`a session costs at most ${MOST} times a key`, 1, ratio <= MOST ? 1 : 0)],
      notes: { 'session, times a key': ratio.toFixed(2), rounds: ROUNDS },
    });
  },
};

function newWay(name: string, headers: Way['headers']): Way {
  return { name, headers, micros: [], latencies: new Latencies() };
}

/** @returns the cookie of a new session */
async function signIn({ stack }: Stage): Promise<string> {
  const answer = await request(`${stack.queryUrl}/api/session`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ key: stack.key }) },
  });
  await answer.body.dump();
  const [cookie = ''] = String(answer.headers['set-cookie']).split(';');
  if (answer.statusCode !== 200) throw new Error(`signing in was answered with ${answer.statusCode}`);
  return cookie;
}

/** Asks for some time. @returns how many requests were answered */
async function ask(stage: Stage, { headers, micros, latencies }: Way, forMs: number, counts: boolean): Promise<number> {
  const meter = new UsageMeter(stage.stack);
  const until = performance.now() + forMs;
  let answered = 0;
  const worker = async () => {
    while (performance.now() < until) {
      const askedAt = performance.now();
      const answer = await request(`${stage.stack.queryUrl}/api/me`, { headers });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`GET /api/me was answered with ${answer.statusCode}`);
      if (counts) latencies.record((performance.now() - askedAt) * 1_000);
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const { cpuMicros } = meter.stop();
  if (counts) micros.push((cpuMicros.query ?? 0) / answered);
  return answered;
}
