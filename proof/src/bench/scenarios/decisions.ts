import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { COMMANDS } from '@agentlens/contracts';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { Pool } from 'undici';
import { Latencies } from '../../harness/latencies.ts';
import type { RuleDraft } from '../rule-drafts.ts';
import type { Bench, Scenario } from '../scenario.ts';
import { DEFAULT_TENANT, type Stage } from '../stage.ts';
import { UsageMeter } from '../usage-meter.ts';

const EMPTY_SUBJECT = 'bench.empty';
const WARM_UP = 300;

interface Variant {
  readonly name: string;
  readonly rules: readonly RuleDraft[];
  /** Further rules, for agents that never ask. */
  readonly absent?: number;
}

/** About another tool than the one that is called: looked at, never met. */
const stateless = (n: number): RuleDraft => ({
  ...{ name: `no tool ${n}`, actionType: 'block', actionConfig: {}, cooldownMinutes: 0 },
  ...{ conditionType: 'tool_name', conditionConfig: { operator: 'contains', value: `forbidden-${n}` } },
});
/** Needs the calls of the run. */
const stateful: RuleDraft = {
  ...{ name: 'calls of a run', actionType: 'block', actionConfig: {}, cooldownMinutes: 0 },
  ...{ conditionType: 'max_calls', conditionConfig: { tools: ['*'], max: 1_000_000 } },
};
const TEN = Array.from({ length: 10 }, (_, n) => stateless(n));

const VARIANTS: readonly Variant[] = [
  { name: 'no rules', rules: [] },
  { name: '10 rules', rules: TEN },
  { name: '10 rules + 990 others', rules: TEN, absent: 990 },
  { name: '10 rules, one with the calls of the run', rules: [...TEN.slice(1), stateful] },
];

/** One question at a time over HTTP and over NATS, and the same to a handler that does nothing. */
export const decisions: Scenario = {
  name: 'decisions',
  title: 'a decision over HTTP and over NATS, beside an empty handler, with 0, 10 and 1,000 rules and with state',
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('distributed');
    const { natsUrl } = stage.stack;
    if (natsUrl === undefined) throw new Error('the distributed shape has a NATS server');
    const connection = await connect({ servers: natsUrl });
    const empty = fork(fileURLToPath(new URL('../empty-handler.ts', import.meta.url)), [natsUrl, EMPTY_SUBJECT]);
    try {
      const [port] = (await once(empty, 'message')) as [number];
      for (const variant of VARIANTS) await measure(bench, stage, variant, connection, `http://127.0.0.1:${port}`);
    } finally {
      await stopped(empty);
      await connection.close();
    }
    await stage.setRules([]);
  },
};

async function measure(bench: Bench, stage: Stage, variant: Variant, connection: NatsConnection, emptyUrl: string) {
  bench.progress(`decisions: ${variant.name}`);
  const ids = await stage.setRules(variant.absent === undefined ? variant.rules : [...variant.rules, absentRule()]);
  if (variant.absent !== undefined) await stage.addAbsent(ids.at(-1) ?? '', variant.absent - 1);
  const ways = waysOf(stage, connection, emptyUrl);
  const seconds = bench.seconds / 4;
  for (const way of ways) for (let i = 0; i < WARM_UP; i++) await way.ask(i);
  const meter = new UsageMeter(stage.stack);
  const startedAt = performance.now();
  const found = new Map(ways.map(({ name }) => [name, new Latencies()]));
  let [asked, unexpected] = [0, 0];
  // In turn, so that what else the machine does meets all of them alike.
  while (performance.now() - startedAt < seconds * 1000 * ways.length) {
    for (const way of ways) {
      const sentAt = performance.now();
      const allowed = await way.ask(WARM_UP + asked);
      found.get(way.name)?.record((performance.now() - sentAt) * 1000);
      if (way.decides) asked += 1;
      if (!allowed) unexpected += 1;
    }
  }
  const measuredSeconds = (performance.now() - startedAt) / 1000;
  const { cpuMicros, rssBytes } = meter.stop();
  for (const way of ways) await way.close?.();
  const latency = Object.fromEntries([...found].map(([name, latencies]) => [name, latencies.summary()]));
  const ratio = (way: string) => ((latency[way]?.p50 ?? 0) / (latency[`empty ${way}`]?.p50 ?? 1)).toFixed(2);
  bench.found({
    ...{ scenario: 'decisions', variant: variant.name, shape: 'distributed', unit: 'request', count: asked },
    ...{ seconds: measuredSeconds, latency, rssBytes },
    cpuMicros: Object.fromEntries(Object.entries(cpuMicros).map(([name, micros]) => [name, micros / asked])),
    checks: [{ name: 'answers other than ALLOW', expected: 0, actual: unexpected }],
    notes: { 'HTTP : empty, p50': ratio('HTTP'), 'NATS : empty, p50': ratio('NATS') },
  });
}

function absentRule(): RuleDraft {
  return { ...stateless(0), name: 'of an absent agent', agentId: 'absent-0' };
}

interface Way {
  readonly name: string;
  /** Counts as a decision. */
  readonly decides: boolean;
  /** True where the answer allows the call. */
  ask(serial: number): Promise<boolean>;
  close?(): Promise<void>;
}

/** Every hundred calls belong to a run of their own, as with agents. */
const runOf = (serial: number) => `bench-${process.pid}-${Math.floor(serial / 100)}`;
const CALL = { phase: 'tool.before', agentId: 'bench-agent', tool: { name: 'search', tags: ['web'] } } as const;
const ARGS = { query: 'weather in Bern', limit: 10 };

function waysOf({ stack }: Stage, connection: NatsConnection, emptyUrl: string): Way[] {
  const over = (name: string, url: string, path: (serial: number) => string, decides: boolean): Way => {
    const pool = new Pool(url, { connections: 1 });
    const headers = { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' };
    return {
      ...{ name, decides },
      async ask(serial) {
        const body = JSON.stringify({
          ...CALL,
          args: ARGS,
          tags: {},
          metrics: { bytes_in: 40 },
          callId: `c-${serial}`,
        });
        const answer = await pool.request({ method: 'POST', path: path(serial), headers, body });
        const value = (await answer.body.json()) as { readonly verdict?: string };
        return answer.statusCode === 200 && (!decides || value.verdict === 'ALLOW');
      },
      close: () => pool.close(),
    };
  };
  const onNats = (name: string, subject: string, decides: boolean): Way => ({
    ...{ name, decides },
    async ask(serial) {
      const question = {
        ...{ ...CALL, tenantId: DEFAULT_TENANT, runId: runOf(serial), args: ARGS, tags: {}, subjects: [] },
        ...{ metrics: { bytes_in: 40 }, callId: `n-${serial}` },
        ...{ receivedAt: new Date().toISOString(), deadlineMs: 1_000 },
      };
      const answer = await connection.request(subject, JSON.stringify(question), { timeout: 2_000 });
      const { ok, value } = answer.json<{ readonly ok: boolean; readonly value?: { readonly verdict: string } }>();
      return ok && (!decides || value?.verdict === 'ALLOW');
    },
  });
  return [
    over('HTTP', stack.ingestUrl, (serial) => `/v1/runs/${runOf(serial)}/evaluate`, true),
    over('empty HTTP', emptyUrl, () => '/', false),
    onNats('NATS', COMMANDS.decide.subject, true),
    onNats('empty NATS', EMPTY_SUBJECT, false),
  ];
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = once(child, 'exit');
  child.disconnect();
  await exit;
}
