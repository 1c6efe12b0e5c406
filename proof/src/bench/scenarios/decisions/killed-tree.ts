import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { Latencies } from '../../../harness/statistics.ts';
import { monotonicMs } from '../../../harness/time.ts';
import type { Bench } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';

const DESCENDANTS = 200;
/** Each run but the leaves starts this many others. */
const CHILDREN = 6;
const ROUNDS_PER_SECOND = 1;
/** Pause of a gateway's asker between questions, so that the load does not delay the order. */
const EVERY_MS = 5;
const DEADLINE_MS = 10_000;
const MAX_P99_MS = 100;

interface Descendant {
  readonly runId: string;
  readonly url: string;
}

/**
 * Times how long descendants of a killed run are still allowed to call. They belong to several gateways, each of
 * which is asked about its runs in turn, every few milliseconds.
 */
export async function killedTree(bench: Bench, stage: Stage, gateways: readonly string[]): Promise<void> {
  bench.progress(`decisions: a kill of a run with ${DESCENDANTS} descendants`);
  await stage.setRules([]);
  const root = `root-${Date.now()}`;
  const [here = ''] = gateways;
  await start(stage, here, root);
  const descendants: Descendant[] = [];
  for (let at = 0; at < DESCENDANTS; at++) {
    const url = gateways[at % gateways.length] ?? here;
    const parent = descendants[Math.floor(at / CHILDREN) - 1]?.runId ?? root;
    descendants.push({ runId: `${root}-${at}`, url });
    await start(stage, url, `${root}-${at}`, parent);
  }
  const ofGateways = gateways.map((url) => descendants.filter((one) => one.url === url));
  const rounds = Math.ceil(bench.seconds * ROUNDS_PER_SECOND);
  const lastAllowed = new Latencies();
  let escaped = 0;
  for (let round = 0; round < rounds; round++) {
    await Promise.all(ofGateways.map((runs) => allAnswer(stage, runs, 'ALLOW')));
    const asking = Promise.all(ofGateways.map((runs) => allAnswer(stage, runs, 'BLOCK')));
    const sentAtMs = monotonicMs();
    await order(stage, root, 'killed');
    const changes = await asking;
    lastAllowed.record(Math.max(0, ...changes.map((atMs) => atMs - sentAtMs)) * 1_000);
    const verdicts = await Promise.all(descendants.map((one) => ask(stage, one)));
    escaped += verdicts.filter((verdict) => verdict !== 'BLOCK').length;
    await order(stage, root, 'running');
  }
  const summary = lastAllowed.summary();
  bench.found({
    ...{ scenario: 'decisions', variant: `a kill, ${DESCENDANTS} descendants at three gateways` },
    ...{ shape: 'distributed', unit: 'process', count: rounds, seconds: 0, cpuMicros: {}, rssBytes: {} },
    latency: { 'kill to all blocked': summary },
    checks: [{ name: 'descendants that were allowed later', expected: 0, actual: escaped }],
    notes: { [`all blocked within ${MAX_P99_MS} ms, p99`]: summary.p99 <= MAX_P99_MS ? 'met' : 'missed' },
  });
}

/**
 * Asks about one run after the other until each in a row gets this verdict. Returns the time of the last other answer,
 * or of the beginning if there was none.
 */
async function allAnswer(stage: Stage, runs: readonly Descendant[], verdict: string): Promise<number> {
  const beganAtMs = monotonicMs();
  let lastOtherAtMs = beganAtMs;
  let inARow = 0;
  for (let at = 0; inARow < runs.length; at++) {
    const run = runs[at % runs.length];
    if (run === undefined) break;
    inARow = (await ask(stage, run)) === verdict ? inARow + 1 : 0;
    if (inARow === 0) lastOtherAtMs = monotonicMs();
    await pause(EVERY_MS);
    if (monotonicMs() - beganAtMs > DEADLINE_MS) throw new Error(`not every descendant got ${verdict}`);
  }
  return lastOtherAtMs;
}

async function ask(stage: Stage, { runId, url }: Descendant): Promise<string> {
  const body = { phase: 'tool.before', agentId: 'worker', tool: { name: 'search' }, args: {}, tags: {} };
  return (await post<{ verdict: string }>(stage, `${url}/v1/runs/${runId}/evaluate`, body)).verdict;
}

async function start(stage: Stage, url: string, runId: string, parentRunId?: string): Promise<void> {
  await post(stage, `${url}/v1/runs/${runId}/start`, { agentId: 'worker', ...(parentRunId && { parentRunId }) });
}

async function order(stage: Stage, id: string, state: 'killed' | 'running'): Promise<void> {
  await post(stage, `${stage.stack.queryUrl}/api/control`, { scope: 'run', id, state, reason: 'bench', waitMs: 0 });
}

async function post<Answer>({ stack }: Stage, url: string, body: object): Promise<Answer> {
  const answer = await request(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (answer.statusCode !== 200) throw new Error(`${url} returned ${answer.statusCode}`);
  return (await answer.body.json()) as Answer;
}
