import { Pool, request } from 'undici';
import type { HarnessRule } from '../../../harness/stack.ts';
import { Latencies, type LatencySummary } from '../../../harness/statistics.ts';
import type { Bench } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';

const CALLS_OF_A_RUN = 40;
const WARM_UP_RUNS = 2;

/** A call that an agent makes, as often as the number says beside the others. */
interface Call {
  readonly weight: number;
  readonly tool: string;
  readonly tags?: readonly string[];
  readonly args: object;
}

interface RuleSet {
  readonly name: string;
  readonly rules: readonly HarnessRule[];
  readonly calls: readonly Call[];
  /** A budget of a day for the agent. */
  readonly budgetUsd?: number;
}

const rule = (name: string, condition: object, action: object, selector?: object) =>
  ({
    ...{ name, cooldownMinutes: 0, ...condition, ...action },
    ...(selector === undefined ? {} : { selector }),
  }) as HarnessRule;
const when = (conditionType: string, conditionConfig: object) => ({ conditionType, conditionConfig });
const act = (actionType: string, actionConfig: object = {}) => ({ actionType, actionConfig });
const tagged = (tag: string) => when('tool_tag', { operator: 'anyOf', tags: [tag] });
const approve = act('require_approval', { title: 'May the agent do this?' });
const block = act('block', { message: 'Not allowed' });

/** What a coding agent does in an hour, by the tags that the guard gives its calls. */
const CODING: readonly Call[] = [
  { weight: 14, tool: 'Read', tags: ['read'], args: { file_path: 'src/index.ts' } },
  { weight: 12, tool: 'Bash', tags: ['shell'], args: { command: 'npm test' } },
  { weight: 8, tool: 'Edit', tags: ['write'], args: { file_path: 'src/index.ts', old_string: 'a', new_string: 'b' } },
  { weight: 4, tool: 'Grep', tags: ['read'], args: { pattern: 'TODO' } },
  { weight: 2, tool: 'WebFetch', tags: ['network'], args: { url: 'https://example.com/' } },
];
/** The rules that `agentlens guard setup` starts with. */
const STARTER = [
  'guard-files',
  'secret-value',
  'secret-path',
  'destructive',
  'publish',
  'outside-project',
  'opaque',
].map((tag, n) => rule(tag, tagged(tag), n < 2 ? block : approve, { toolTagsAll: [tag] }));
const LOOPS = rule('loops', when('repeated_call', { times: 8, sameResult: false }), act('terminate_run'), {
  toolTagsAny: ['shell', 'write', 'read', 'network', 'mcp'],
});

/** A support agent that searches, reads and sometimes refunds. */
const SUPPORT: readonly Call[] = [
  { weight: 14, tool: 'search_orders', args: { query: 'order 1182' } },
  { weight: 12, tool: 'read_order', args: { id: '1182' } },
  { weight: 8, tool: 'search_web', args: { query: 'delivery times' } },
  { weight: 4, tool: 'send_reply', args: { to: 'customer', text: 'On its way.' } },
  { weight: 2, tool: 'refund', args: { amount: 12 } },
];
const REALISTIC: readonly HarnessRule[] = [
  rule(
    'large refunds',
    when('tool_argument', { path: 'amount', type: 'number', operator: 'gt', value: 100 }),
    approve,
    {
      tools: ['refund'],
    },
  ),
  rule('no deletions', when('tool_name', { operator: 'glob', value: 'delete_*' }), block),
  rule('searches of a run', when('max_calls', { tools: ['search_web'], max: 1_000 }), block, { tools: ['search_web'] }),
  rule(
    'failing calls',
    when('error_rate_threshold', { threshold: 50, windowMinutes: 5, of: 'calls' }),
    act('pause_agent'),
  ),
  rule('spending', when('cost_limit', { maxCostUsd: 5, scope: 'session' }), act('raise_alert', { severity: 'warn' })),
];

const SETS: readonly RuleSet[] = [
  {
    name: 'the demo',
    calls: SUPPORT,
    rules: [...REALISTIC.slice(3), rule('buying', when('tool_name', { operator: 'glob', value: 'buy_*' }), approve)],
  },
  { name: 'a coding agent', calls: CODING, rules: [...STARTER, LOOPS] },
  { name: 'a coding agent, without the rule about repetition', calls: CODING, rules: STARTER },
  { name: 'approval, window, limit of calls', calls: SUPPORT, rules: REALISTIC },
  { name: 'the same and a budget', calls: SUPPORT, rules: REALISTIC, budgetUsd: 1_000 },
];

/**
 * How many calls the gateway answers itself under rules that people have, and what that saves: the same calls at two
 * gateways in turn, of which one asks the evaluator about each.
 *
 * @param askingUrl the gateway that always asks
 */
export async function sharesDecidedByTheGateway(bench: Bench, stage: Stage, askingUrl: string): Promise<void> {
  for (const set of SETS) {
    bench.progress(`decisions: share of the gateway, ${set.name}`);
    await stage.setRules(set.rules);
    const budget = set.budgetUsd === undefined ? undefined : await makeBudget(stage, set.budgetUsd);
    try {
      const found = await askBoth(stage, set.calls, askingUrl, bench.seconds);
      const { gateway, asking, asked, local, unexpected, seconds } = found;
      bench.found({
        ...{ scenario: 'decisions', variant: `share of the gateway, ${set.name}`, shape: 'distributed' },
        ...{ unit: 'request', count: asked, seconds, cpuMicros: {}, rssBytes: {} },
        latency: { 'gateway may decide': gateway, 'evaluator decides': asking },
        checks: [{ name: 'answers other than ALLOW', expected: 0, actual: unexpected }],
        notes: {
          'decided by the gateway': `${((100 * local) / asked).toFixed(0)} %`,
          'p50 : evaluator decides': (gateway.p50 / asking.p50).toFixed(2),
          'p99 : evaluator decides': (gateway.p99 / asking.p99).toFixed(2),
        },
      });
    } finally {
      await budget?.remove();
    }
  }
}

interface Shares {
  readonly gateway: LatencySummary;
  readonly asking: LatencySummary;
  readonly asked: number;
  /** Calls that the gateway answered itself, of those asked at the gateway that may. */
  readonly local: number;
  readonly unexpected: number;
  readonly seconds: number;
}

async function askBoth(stage: Stage, calls: readonly Call[], askingUrl: string, seconds: number): Promise<Shares> {
  const order = spread(calls);
  const gateway = new Pool(stage.stack.ingestUrl, { connections: 1 });
  const asking = new Pool(askingUrl, { connections: 1 });
  const times = { gateway: new Latencies(), asking: new Latencies() };
  let [asked, local, unexpected] = [0, 0, 0];
  const startedAt = performance.now();
  try {
    for (let serial = 0; performance.now() - startedAt < seconds * 1_000; serial++) {
      const call = order[serial % order.length];
      const isWarm = serial >= WARM_UP_RUNS * CALLS_OF_A_RUN;
      if (call === undefined) throw new Error('a rule set has calls');
      for (const [way, pool] of [['gateway', gateway] as const, ['asking', asking] as const]) {
        const sentAt = performance.now();
        const { verdict, by } = await ask(pool, stage.stack.key, `share-${way}`, serial, call);
        if (!isWarm) continue;
        times[way].record((performance.now() - sentAt) * 1_000);
        if (verdict !== 'ALLOW') unexpected += 1;
        if (way === 'gateway') asked += 1;
        if (way === 'gateway' && by === 'gateway') local += 1;
      }
    }
  } finally {
    await Promise.all([gateway.close(), asking.close()]);
  }
  return {
    ...{ asked, local, unexpected, seconds: (performance.now() - startedAt) / 1_000 },
    ...{ gateway: times.gateway.summary(), asking: times.asking.summary() },
  };
}

/** Calls in a fixed order in which each kind comes as often as its weight. */
function spread(calls: readonly Call[]): readonly Call[] {
  const slots = calls.flatMap((call) =>
    Array.from({ length: call.weight }, (_, n) => ({ call, at: (n + 0.5) / call.weight })),
  );
  return slots.toSorted((a, b) => a.at - b.at).map(({ call }) => call);
}

async function ask(pool: Pool, key: string, prefix: string, serial: number, { tool, tags = [], args }: Call) {
  const runId = `${prefix}-${process.pid}-${performance.timeOrigin.toFixed(0)}-${Math.floor(serial / CALLS_OF_A_RUN)}`;
  const answer = await pool.request({
    method: 'POST',
    path: `/v1/runs/${runId}/evaluate`,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    // Arguments differ from call to call, as those of a working agent do.
    body: JSON.stringify({
      ...{ phase: 'tool.before', agentId: 'bench-agent', tool: { name: tool, tags }, args: { ...args, step: serial } },
      ...{ tags: {}, callId: `c-${serial}` },
    }),
  });
  const { verdict } = (await answer.body.json()) as { readonly verdict?: string };
  return { verdict, by: answer.headers['x-agentlens-decided-by'] };
}

async function makeBudget(stage: Stage, limitUsd: number) {
  const body = { name: 'bench', scope: 'agent', scopeId: 'bench-agent', period: 'day', limitUsd };
  const { id } = await stage.post<{ readonly id: string }>('/api/budgets', body, 201);
  return {
    async remove() {
      const headers = { authorization: `Bearer ${stage.stack.key}` };
      const answer = await request(`${stage.stack.queryUrl}/api/budgets/${id}`, { method: 'DELETE', headers });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`The budget was not deleted: ${answer.statusCode}`);
    },
  };
}
