import {
  BreakerLimits,
  BUDGET_SCOPES,
  type Budget,
  type DecisionRequest,
  type EventBatch,
  type GuardrailRule,
} from '@agentlens/contracts';
import { comparable } from '@agentlens/decisions';
import { ACTIONS, activate, CONDITIONS, isStateless, MUST_ASK } from '@agentlens/guardrails';
import { aBatch, anEvent, aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { TenantLimits } from '../services/guardrail-evaluator/src/breakers/limits.ts';
import { DecisionWorld, START_MS, TENANT, type WorldClock, type WorldOptions } from './decision-paths-world.ts';

const AGENTS = ['bot-a', 'bot-b'];
const RUNS = ['run-1', 'run-2'];
const TOOLS = ['search', 'send_email', 'pay'];
const TAGS = ['payment', 'customer-data'];

/** A value once in a while, and otherwise nothing. */
const sometimes = <T>(notIn: number, value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: notIn, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

const toolNames = fc.subarray(TOOLS, { minLength: 1 });
const choices = fc.oneof(
  toolNames.map((tools) => ({ tools })),
  fc.subarray(TAGS, { minLength: 1 }).map((toolTagsAny) => ({ toolTagsAny })),
);
const amount = fc.constantFrom(1, 5, 100);
const simple = fc.constantFrom(
  { type: 'tool_argument', config: { path: 'amount', type: 'number', operator: 'gt', value: 5 } },
  { type: 'tool_name', config: { operator: 'eq', value: 'pay' } },
  { type: 'subject', config: { subjectType: 'customer' } },
  { type: 'max_calls', config: { tools: ['search'], max: 2 } },
);

/** A generator for each condition. A condition without one fails the test. */
const CONFIGS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  error_rate_threshold: fc.constant({ threshold: 30, windowMinutes: 5, of: 'calls', minEvents: 1 }),
  cost_limit: fc.constantFrom({ maxCostUsd: 1, scope: 'session' }, { maxCostUsd: 1, scope: 'day' }),
  health_score_threshold: fc.constant({}),
  custom_metric: fc.constant({
    ...{ metricName: 'total_tokens', operator: 'gt', value: 10, windowMinutes: 60, aggregate: 'sum' },
  }),
  same_call: fc.constant({ times: 3 }),
  tool_name: fc.record({ operator: fc.constant('eq'), value: fc.constantFrom(...TOOLS) }),
  tool_tag: fc.record({ operator: fc.constant('anyOf'), tags: fc.subarray(TAGS, { minLength: 1 }) }),
  tool_argument: fc.record({
    ...{ path: fc.constantFrom('amount', 'missing'), type: fc.constant('number') },
    ...{ operator: fc.constantFrom('gt', 'lte'), value: amount },
  }),
  enduser_tag: fc.constant({ tag: 'plan', operator: 'hasValueAny', values: ['free'] }),
  subject: fc.constantFrom({ subjectType: 'customer' }, { subjectType: 'patient', role: 'owner' }),
  signal: fc.record({
    ...{ key: fc.constantFrom('risk', 'duration_ms', 'team'), operator: fc.constant('gte'), value: amount },
  }),
  sequence: choices.map((choice) => ({ mustHaveCalled: [choice] })),
  max_calls: fc.record({
    ...{ tools: toolNames, max: fc.integer({ min: 1, max: 3 }), per: fc.constantFrom('run', 'agent', 'agent_user') },
    windowMinutes: fc.constant(5),
  }),
  repeated_call: fc.record({ times: fc.integer({ min: 2, max: 3 }), sameResult: fc.boolean() }),
  data_flow: choices.map((after) => ({ after: [after], label: 'customer-data', grade: 'possible' })),
  metric_window: fc.constant({
    ...{ metric: 'bytes_out', aggregate: 'sum', operator: 'gt', value: 10, scope: 'agent', windowMinutes: 60 },
  }),
  execution_time: fc.record({
    ...{ scope: fc.constantFrom('total', 'call'), operator: fc.constant('gt'), ms: fc.constantFrom(50, 5_000) },
  }),
  time_gate: fc.constant({ timeZone: 'UTC', windows: [{ days: ['sun'], start: '12:00', end: '12:00' }] }),
  sensitive_data: fc.constant({ detectors: [{ detector: 'email' }] }),
  expression: fc.constantFrom(
    { expression: 'tool.name == "pay" && args.amount > 5' },
    { expression: 'has(args.to) && args.to.contains("example")' },
  ),
  all: fc.array(simple, { minLength: 1, maxLength: 2 }).map((conditions) => ({ conditions })),
  any: fc.array(simple, { minLength: 1, maxLength: 2 }).map((conditions) => ({ conditions })),
  not: simple.map((condition) => ({ condition })),
};

/** An action for each effect. */
const ACTION_CONFIGS: Readonly<Record<string, unknown>> = {
  allow: {},
  block: { message: 'Not allowed' },
  terminate_run: {},
  require_approval: { title: 'May it?', expiresInSeconds: 900 },
  modify_arguments: { set: { 'options.dryRun': true }, redact: ['email'] },
};

const anyRule = fc
  .record({
    conditionType: fc.constantFrom(...Object.keys(CONFIGS)),
    actionType: fc.constantFrom(...Object.keys(ACTION_CONFIGS)),
    mode: fc.constantFrom('enforce', 'enforce', 'shadow', 'canary'),
    by: fc.constantFrom('tree', 'run', 'session', 'actor', 'agent'),
    onMissing: fc.constantFrom('allow', 'block'),
    onUnavailable: fc.constantFrom('allow', 'block'),
    priority: fc.integer({ min: -2, max: 2 }),
    agentId: sometimes(2, fc.constantFrom(...AGENTS)),
    selector: fc.record(
      {
        phases: fc.subarray(['tool.before', 'tool.after'], { minLength: 1 }),
        tools: toolNames,
        agentSlugsAny: fc.constantFrom(['bot-*'], ['bot-a']),
        agentTagsAny: fc.constantFrom(['prod'], ['test']),
      },
      { requiredKeys: [] },
    ),
  })
  .chain(({ mode, by, ...fields }) =>
    (CONFIGS[fields.conditionType] ?? fc.constant({})).map((conditionConfig) =>
      aRule({
        ...fields,
        ...{ mode, conditionConfig, actionConfig: ACTION_CONFIGS[fields.actionType] },
        ...(mode === 'canary' ? { rollout: { percent: 50, by } } : {}),
      } as Partial<GuardrailRule>),
    ),
  )
  .filter((rule) => {
    const activated = activate(rule);
    return activated.ok && activated.value.cadence === 'call';
  });
/** Half of the books have only rules about the call itself. */
const anyRules = fc.oneof(
  fc.array(anyRule, { maxLength: 4 }),
  fc.array(anyRule.filter(isStatelessRule), { maxLength: 4 }),
);

function budgetOf({
  scope,
  scopeId,
}: {
  readonly scope: Budget['scope'];
  readonly scopeId?: string | undefined;
}): Budget {
  const at = new Date(START_MS).toISOString();
  return {
    ...{ id: `budget-${scope}`, tenantId: TENANT, name: 'Budget', scope, period: 'total', limitUsd: 1 },
    ...(scopeId === undefined || scope === 'tenant' ? {} : { scopeId }),
    ...{ enabled: true, onUnavailable: 'block', onUnpriced: 'estimate', freeCalls: 'allow', version: 1 },
    ...{ createdAt: at, updatedAt: at },
  };
}
const anyBudget = fc
  .record({ scope: fc.constantFrom(...BUDGET_SCOPES), scopeId: fc.constantFrom(undefined, 'bot-a', 'run-1') })
  .map(budgetOf);

const tenantLimits = (fields: Partial<BreakerLimits>): TenantLimits => ({
  tenant: BreakerLimits.parse(fields),
  ...{ agents: new Map(), runs: new Map() },
});
const anyLimits = fc.constantFrom<TenantLimits | undefined>(
  undefined,
  tenantLimits({ maxTokens: 100, maxConsecutiveFailures: 1 }),
  tenantLimits({ maxIterations: 2, probeAfterSeconds: 60 }),
  { tree: BreakerLimits.parse({ maxTokens: 100, maxConsecutiveFailures: 1 }), agents: new Map(), runs: new Map() },
  { tree: BreakerLimits.parse({ maxIterations: 2, probeAfterSeconds: 60 }), agents: new Map(), runs: new Map() },
);

const anyQuestion = fc.record({
  phase: fc.constantFrom('tool.before', 'tool.before', 'tool.before', 'tool.after', 'llm.before'),
  agentId: fc.constantFrom(...AGENTS),
  runId: fc.constantFrom(...RUNS),
  tool: fc.record({ name: fc.constantFrom(...TOOLS), tags: fc.subarray(TAGS) }),
  args: fc.oneof(
    fc.record({ amount: fc.constantFrom(1, 10, '10', -0), to: fc.constantFrom('ann@example.com', 'nobody') }),
    fc.constant({}),
    fc.constant(null),
  ),
  result: fc.constantFrom({ ok: true }, { ok: false }),
  actor: fc.option(fc.constantFrom({ externalId: 'ann', metadata: { plan: 'free' } }, { externalId: 'bob' }), {
    nil: undefined,
  }),
  subjects: fc.constantFrom([], [{ subjectType: 'customer', value: 'c-1' }]),
  tags: fc.constantFrom({}, { team: '7' }),
  metrics: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom({}, { risk: 9 }, { duration_ms: 100, bytes_out: 20 }) },
    { weight: 1, arbitrary: fc.constantFrom({ llm_tokens_in: 70 }, { llm_cost_usd: 6 }) },
  ),
  call: fc.constantFrom('new', 'new', 'new', 'again', 'none'),
  sessionId: fc.option(fc.constant('session-1'), { nil: undefined }),
  ancestors: sometimes(4, fc.constant(['root-1'])),
  ancestorsUnknown: sometimes(10, fc.constant(true)),
  overTreeLimit: sometimes(15, fc.constant({ limit: 'children' as const, max: 3 })),
  startedAs: sometimes(15, fc.constantFrom({ agentId: 'bot-b' }, { sessionId: 'session-2' })),
  unread: sometimes(10, fc.constant({ args: { reason: 'too_large', sha256: 'a'.repeat(64) } })),
  estimate: sometimes(2, fc.constant({ tokens: 50, costUsd: 0.6 })),
});
type AnyQuestion = typeof anyQuestion extends fc.Arbitrary<infer Q> ? Q : never;

const anyEvents = fc
  .record({
    agentId: fc.constantFrom(...AGENTS),
    runId: fc.constantFrom(...RUNS, 'root-1'),
    parentRunId: sometimes(3, fc.constant('root-1')),
    what: fc.constantFrom('tokens', 'many tokens', 'failure', 'success', 'tripped', 'iterations', 'cost'),
  })
  .map(({ what, ...whose }): EventBatch => {
    const completed = { ...whose, isError: false };
    const model = (totalTokens: number) => anEvent({ ...completed, kind: 'llm.completed', usage: { totalTokens } });
    const tool = (isError: boolean) => anEvent({ ...completed, kind: 'tool.completed', toolName: 'search', isError });
    const events = {
      tokens: () => [model(60)],
      'many tokens': () => [model(250_000)],
      failure: () => [tool(true), tool(true)],
      success: () => [tool(false)],
      tripped: () => [anEvent({ ...whose, sourceType: 'breaker.tripped', payload: { reason: 'tokens' } })],
      iterations: () => [model(1), model(1)],
      cost: () => [anEvent({ ...whose, kind: 'cost.recorded', usage: { costUsd: 2 } })],
    }[what]();
    return aBatch({ events });
  });

type Step =
  | { readonly do: 'ask'; readonly question: AnyQuestion }
  | { readonly do: 'events'; readonly batch: EventBatch }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'tick' | 'restart' | 'hold' | 'release' }
  | { readonly do: 'rules'; readonly rules: readonly GuardrailRule[] }
  | { readonly do: 'budgets'; readonly budgets: readonly Budget[] }
  | { readonly do: 'limits'; readonly limits: TenantLimits | undefined }
  | { readonly do: 'order'; readonly scopeId: string; readonly kind: 'killed' | 'paused' | 'none' };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 20, arbitrary: anyQuestion.map((question): Step => ({ do: 'ask', question })) },
  { weight: 3, arbitrary: anyEvents.map((batch): Step => ({ do: 'events', batch })) },
  { weight: 2, arbitrary: fc.constantFrom(100, 5_000, 70_000).map((ms): Step => ({ do: 'wait', ms })) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'tick' }) },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ do: 'restart' }, { do: 'hold' }, { do: 'release' }) },
  { weight: 1, arbitrary: anyRules.map((rules): Step => ({ do: 'rules', rules })) },
  { weight: 1, arbitrary: fc.array(anyBudget, { maxLength: 1 }).map((budgets): Step => ({ do: 'budgets', budgets })) },
  { weight: 1, arbitrary: anyLimits.map((limits): Step => ({ do: 'limits', limits })) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('order' as const),
      scopeId: fc.constantFrom('bot-a', 'run-1', 'root-1'),
      kind: fc.constantFrom('killed' as const, 'paused' as const, 'none' as const),
    }),
  },
);

const anyStory = fc.record({
  rules: anyRules,
  budgets: fc.array(anyBudget, { maxLength: 1 }),
  hasBudgets: fc.constantFrom(false, false, true),
  limits: anyLimits,
  steps: fc.array(anyStep, { minLength: 1, maxLength: 25, size: 'max' }),
});
type Story = typeof anyStory extends fc.Arbitrary<infer S> ? S : never;

function isStatelessRule(rule: GuardrailRule): boolean {
  const activated = activate(rule);
  return activated.ok && activated.value.cadence === 'call' && isStateless(activated.value);
}

function requestOf({ call, ...question }: AnyQuestion, at: number, nowMs: number): DecisionRequest {
  const callId = { new: `call-${at}`, again: 'call-0', none: undefined }[call];
  const { phase, tool, args, result, estimate } = question;
  return {
    ...question,
    ...{ tenantId: TENANT, receivedAt: new Date(nowMs).toISOString(), deadlineMs: 10_000 },
    ...(callId === undefined ? {} : { callId }),
    tool: phase === 'llm.before' ? undefined : tool,
    args: phase === 'llm.before' ? undefined : args,
    result: phase === 'tool.after' ? result : undefined,
    estimate: phase === 'llm.before' ? estimate : undefined,
  } as unknown as DecisionRequest;
}

async function perform(world: DecisionWorld, step: Step, at: number, clock: WorldClock): Promise<string | undefined> {
  switch (step.do) {
    case 'ask':
      return comparable((await world.ask(requestOf(step.question, at, clock.nowMs))).decision);
    case 'events':
      await world.feed(step.batch);
      return undefined;
    case 'wait':
      clock.nowMs += step.ms;
      return undefined;
    case 'tick':
      await world.release();
      await world.tick();
      return undefined;
    case 'restart':
      await world.release();
      await world.restartGateway();
      return undefined;
    case 'hold':
      world.hold();
      return undefined;
    case 'release':
      await world.release();
      return undefined;
    case 'order':
      world.order(step.scopeId, step.kind);
      return undefined;
    default:
      await world.change(step);
      return undefined;
  }
}

interface Played {
  readonly answers: readonly (string | undefined)[];
  readonly stored: string;
  readonly world: DecisionWorld;
}

async function play(story: Story, options: Omit<WorldOptions, 'clock'>): Promise<Played> {
  const clock = { nowMs: START_MS };
  const world = await DecisionWorld.open({ ...options, clock });
  try {
    await world.change({ rules: story.rules, budgets: story.hasBudgets ? story.budgets : [], limits: story.limits });
    await world.tick();
    const answers: (string | undefined)[] = [];
    for (const [at, step] of story.steps.entries()) answers.push(await perform(world, step, at, clock));
    return { answers, stored: world.stored().replaceAll('#', ''), world };
  } finally {
    await world.close();
  }
}

type Row = (typeof MUST_ASK)[keyof typeof MUST_ASK];

/** Plays a story in both worlds and returns what differs, or null. */
async function difference(story: Story, mustAsk?: readonly Row[], clockOffsetMs = 0): Promise<string | null> {
  const alone = await play(story, { hasGateway: false, clockOffsetMs });
  const both = await play(story, { hasGateway: true, mustAsk, clockOffsetMs });
  for (const reason of both.world.reasons) seen.set(reason, (seen.get(reason) ?? 0) + 1);
  const at = alone.answers.findIndex((answer, place) => answer !== both.answers[place]);
  if (at >= 0) return `step ${at}: evaluator ${alone.answers[at]}, gateway ${both.answers[at]}`;
  return alone.stored === both.stored ? null : `stores: ${alone.stored}\n${both.stored}`;
}

/** A question of a known agent about a harmless call. */
function asking(fields: Partial<AnyQuestion> = {}): Step {
  const question: AnyQuestion = {
    ...{ phase: 'tool.before', agentId: 'bot-a', runId: 'run-1', tool: { name: 'search', tags: [] } },
    ...{ args: { amount: 1, to: 'nobody' }, result: { ok: true }, subjects: [], tags: {}, metrics: {}, call: 'new' },
    ...{ actor: undefined, sessionId: undefined, ancestors: undefined, ancestorsUnknown: undefined },
    ...{ overTreeLimit: undefined, startedAs: undefined, unread: undefined, estimate: undefined },
    ...fields,
  };
  return { do: 'ask', question };
}

const NO_STORY: Story = { rules: [], budgets: [], hasBudgets: true, limits: undefined, steps: [] };

function ruleOf(conditionType: string, conditionConfig: GuardrailRule['conditionConfig'], fields = {}): GuardrailRule {
  return aRule({ conditionType, conditionConfig, actionType: 'block', ...fields });
}

const SEARCHES = ruleOf('tool_name', { operator: 'eq', value: 'search' });
const model = (totalTokens: number) =>
  anEvent({ agentId: 'bot-a', runId: 'run-1', kind: 'llm.completed', isError: false, usage: { totalTokens } });
const events = (...list: EventBatch['events'][number][]): Step => ({ do: 'events', batch: aBatch({ events: list }) });
const MANY = Array.from({ length: 500 }, (_, at) => `name-${at}`);

/** For each condition a story that goes wrong without it. The first question makes the run known. */
const CASES: Readonly<Record<string, { readonly story: Story; readonly clockOffsetMs?: number }>> = {
  stale: {
    story: { ...NO_STORY, steps: [asking(), { do: 'hold' }, { do: 'rules', rules: [SEARCHES] }, asking()] },
  },
  spendsApproval: {
    story: {
      ...NO_STORY,
      rules: [ruleOf('tool_name', { operator: 'eq', value: 'pay' }, { actionType: 'require_approval' })],
      steps: [asking(), asking({ phase: 'tool.after' })],
    },
  },
  otherIdentity: {
    story: {
      ...NO_STORY,
      rules: [{ ...SEARCHES, agentId: 'bot-b' }],
      steps: [asking(), asking({ startedAs: { agentId: 'bot-b' } })],
    },
  },
  modelCall: {
    story: {
      ...NO_STORY,
      limits: tenantLimits({ maxIterations: 2 }),
      steps: [asking(), events(model(1), model(1)), asking({ phase: 'llm.before' })],
    },
  },
  usage: { story: { ...NO_STORY, steps: [asking(), asking({ metrics: { llm_tokens_in: 70 } })] } },
  budget: {
    story: {
      ...NO_STORY,
      budgets: [budgetOf({ scope: 'agent', scopeId: 'bot-a' })],
      steps: [
        events(anEvent({ agentId: 'bot-a', runId: 'run-1', kind: 'cost.recorded', usage: { costUsd: 2 } })),
        asking({ phase: 'tool.after' }),
        asking(),
      ],
    },
  },
  breaker: {
    story: {
      ...NO_STORY,
      steps: [
        asking(),
        events(
          anEvent({ agentId: 'bot-a', runId: 'run-1', sourceType: 'breaker.tripped', payload: { reason: 'tokens' } }),
        ),
        asking(),
      ],
    },
  },
  first: {
    story: {
      ...NO_STORY,
      steps: [
        asking({ runId: 'run-2' }),
        events(model(250_000)),
        { do: 'restart' },
        asking(),
        asking({ runId: 'run-2' }),
      ],
    },
  },
  agentTags: {
    story: { ...NO_STORY, rules: [{ ...SEARCHES, selector: { agentTagsAny: ['prod'] } }], steps: [asking(), asking()] },
  },
  history: {
    story: {
      ...NO_STORY,
      rules: [ruleOf('sequence', { mustHaveCalled: [{ tools: ['pay'] }] })],
      steps: [asking({ phase: 'llm.before' }), asking()],
    },
  },
  counted: {
    story: {
      ...NO_STORY,
      rules: [
        ruleOf('max_calls', { tools: ['search'], max: 1, appliesTo: 'every_call' }, { selector: { tools: ['pay'] } }),
      ],
      steps: [asking({ phase: 'llm.before' }), asking()],
    },
  },
  series: {
    story: {
      ...NO_STORY,
      rules: [ruleOf('max_calls', { tools: ['search'], max: 1, per: 'agent', windowMinutes: 5 })],
      steps: [asking(), asking()],
    },
  },
  labels: {
    story: {
      ...NO_STORY,
      rules: [ruleOf('data_flow', { after: [{ tools: ['search'] }], label: 'data' }, { selector: { tools: ['pay'] } })],
      steps: [
        asking({ tool: { name: 'send_email', tags: [] } }),
        asking(),
        asking({ tool: { name: 'pay', tags: [] } }),
      ],
    },
  },
  clock: {
    story: {
      ...NO_STORY,
      rules: [ruleOf('time_gate', { timeZone: 'UTC', windows: [{ days: ['sun'], start: '12:00', end: '12:00' }] })],
      steps: [asking(), asking()],
    },
    clockOffsetMs: 120_000,
  },
  steps: {
    story: {
      ...NO_STORY,
      rules: [ruleOf('expression', { expression: 'args.a.all(x, x in args.b)' })],
      steps: [asking(), asking({ args: { a: MANY, b: MANY } as never })],
    },
  },
  asksPeople: {
    story: {
      ...NO_STORY,
      rules: [
        { ...SEARCHES, actionType: 'require_approval', actionConfig: { title: 'May it?', expiresInSeconds: 900 } },
      ],
      steps: [asking(), asking()],
    },
  },
};

const seen = new Map<string, number>();

describe('a gateway that decides', () => {
  it('has a generator for every condition and every deciding action', () => {
    expect(Object.keys(CONFIGS).sort()).toEqual([...CONDITIONS.types].sort());
    const deciding = ACTIONS.modules.filter((action) => 'effect' in action).map(({ type }) => type);
    expect(Object.keys(ACTION_CONFIGS).sort()).toEqual(deciding.sort());
  });

  it('gives the answers of the evaluator and leaves the stores as the evaluator does', async () => {
    await fc.assert(
      fc.asyncProperty(anyStory, async (story) => {
        const differs = await difference(story);
        if (differs !== null) throw new Error(differs);
      }),
      { numRuns: 150 },
    );
    // The property says nothing if the gateway asks about everything.
    expect(seen.get('known') ?? 0).toBeGreaterThan(100);
  });

  it.each(Object.entries(CASES))(
    'answers otherwise without the condition "%s"',
    async (name, { story, clockOffsetMs }) => {
      expect(await difference(story, undefined, clockOffsetMs)).toBeNull();
      const others = Object.entries(MUST_ASK).flatMap(([other, row]) => (other === name ? [] : [row]));
      expect(await difference(story, others, clockOffsetMs)).not.toBeNull();
    },
  );

  it('decides calls that no rule counts', async () => {
    const rules = [
      ruleOf('max_calls', { tools: ['pay'], max: 1 }),
      ruleOf('sequence', { mustHaveCalled: [{ tools: ['send_email'] }] }, { selector: { tools: ['pay'] } }),
      ruleOf('repeated_call', {}, { selector: { tools: ['pay', 'send_email'] } }),
    ];
    const pay = asking({ tool: { name: 'pay', tags: [] } });
    const story = { ...NO_STORY, rules, steps: [asking(), asking(), pay, asking({ phase: 'tool.after' })] };
    const { reasons } = (await play(story, { hasGateway: true })).world;
    expect(reasons).toEqual(['first', 'known', 'needs_state', 'known']);
    expect(await difference(story)).toBeNull();
  });

  it('has a case for every condition except the setting', () => {
    expect([...Object.keys(CASES), 'setting'].sort()).toEqual(Object.keys(MUST_ASK).sort());
  });
});
