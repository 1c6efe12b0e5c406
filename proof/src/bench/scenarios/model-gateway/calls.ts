import { Agent } from 'undici';
import { familyMicros } from '../../../harness/process-family.ts';
import { Latencies, median } from '../../../harness/statistics.ts';
import { monotonicMs } from '../../../harness/time.ts';
import { type Bench, check, type FigureCheck } from '../../scenario.ts';
import { callOnce } from './call-once.ts';
import type { Target } from './peers.ts';

/** The first round is a warm-up, takes longer and does not count. */
const ROUNDS = 4;
const WARM_UP_TIMES = 3;
const CALLERS = 64;
/** About 2 kB. */
const PROMPT = 'Tell me about it. '.repeat(110);

const KINDS = [
  { name: 'whole', stream: false },
  { name: 'stream of 100 chunks', stream: true },
] as const;

interface Measured {
  readonly cpuMicros: number[];
  readonly firstByte: Latencies;
  calls: number;
  /** How many calls failed for which cause. */
  readonly failures: Map<string, number>;
}

/** The same calls to each target in turn: one caller for the first byte, 64 for the CPU. */
export async function measureCalls(bench: Bench, targets: readonly Target[]): Promise<void> {
  const dispatcher = new Agent({ connections: CALLERS });
  const roundMs = (bench.seconds * 1_000) / ROUNDS;
  try {
    for (const kind of KINDS) {
      bench.progress(`model-gateway: ${kind.name}`);
      const found = new Map<string, Measured>(
        targets.map(({ name }) => [name, { cpuMicros: [], firstByte: new Latencies(), calls: 0, failures: new Map() }]),
      );
      for (let round = 0; round <= ROUNDS; round++) {
        for (const target of targets) {
          const measured = found.get(target.name);
          if (measured === undefined) continue;
          const forMs = round === 0 ? roundMs * WARM_UP_TIMES : roundMs;
          await measureRound(target, kind, dispatcher, forMs, round, measured);
        }
      }
      report(bench, kind.name, found);
    }
  } finally {
    await dispatcher.close();
  }
}

async function measureRound(
  target: Target,
  { stream }: (typeof KINDS)[number],
  dispatcher: Agent,
  roundMs: number,
  round: number,
  measured: Measured,
): Promise<void> {
  const counts = round > 0;
  const body = JSON.stringify({
    model: 'gpt-4.1',
    max_tokens: 1_000,
    messages: [{ role: 'user', content: PROMPT }],
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  });
  let calls = 0;
  const callAndCount = async (record: boolean) => {
    const { firstByteMs, failure } = await callOnce(target, body, stream, dispatcher);
    if (record && firstByteMs !== undefined) measured.firstByte.record(firstByteMs * 1_000);
    calls += 1;
    if (failure !== undefined) measured.failures.set(failure, (measured.failures.get(failure) ?? 0) + 1);
  };
  const lines = async (count: number, record: boolean) => {
    const untilMs = monotonicMs() + roundMs / 2;
    const line = async () => {
      while (monotonicMs() < untilMs) await callAndCount(record);
    };
    await Promise.all(Array.from({ length: count }, line));
  };
  await lines(1, counts);
  calls = 0;
  const before = familyMicros(target.pid);
  await lines(CALLERS, false);
  if (counts) {
    measured.cpuMicros.push((familyMicros(target.pid) - before) / calls);
    measured.calls += calls;
  }
}

function report(bench: Bench, kind: string, found: ReadonlyMap<string, Measured>): void {
  const own = found.get('AgentLens');
  const direct = found.get('direct');
  const notes: Record<string, string> = {};
  const cpuOf = ({ cpuMicros }: Measured) => median(cpuMicros);
  for (const [name, measured] of found) {
    const { firstByte, calls, failures } = measured;
    const failed = countFailed(failures);
    notes[`${name}, CPU per call`] = `${(cpuOf(measured) / 1_000).toFixed(2)} ms of ${calls} calls, ${failed} failed`;
    notes[`${name}, first byte, one caller`] =
      `p50 ${firstByte.quantile(0.5).toFixed(2)}, p99 ${firstByte.quantile(0.99).toFixed(2)} ms`;
    if (own === undefined || measured === own) continue;
    notes[`AgentLens : ${name}, CPU`] = `x ${(cpuOf(own) / cpuOf(measured)).toFixed(3)}`;
  }
  if (own !== undefined && direct !== undefined) {
    for (const q of [0.5, 0.99]) {
      const added = own.firstByte.quantile(q) - direct.firstByte.quantile(q);
      notes[`added first byte, p${q * 100}`] = `${added.toFixed(2)} ms`;
    }
  }
  bench.found({
    ...{ scenario: 'model-gateway', variant: kind, shape: 'distributed', unit: 'request', count: own?.calls ?? 0 },
    ...{ seconds: bench.seconds, cpuMicros: {}, rssBytes: {}, notes },
    latency: own === undefined ? {} : { 'first byte': own.firstByte.summary() },
    checks: checkFailures(own?.failures ?? new Map()),
  });
}

function countFailed(failures: ReadonlyMap<string, number>): number {
  return [...failures.values()].reduce((sum, count) => sum + count, 0);
}

/** One line for all failed calls, and one for each cause. */
function checkFailures(failures: ReadonlyMap<string, number>): FigureCheck[] {
  const byCause = [...failures].map(([cause, count]) => check(`failed with ${cause}`, 0, count));
  return [check('failed calls of AgentLens', 0, countFailed(failures)), ...byCause];
}
