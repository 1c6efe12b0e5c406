import {
  breakersDue,
  COMMANDS,
  type Decision,
  type DecisionRequest,
  type GuardrailRule,
  rulesChanged,
  type TenantBook,
  type TenantBookAnswer,
} from '@agentlens/contracts';
import * as guardrails from '@agentlens/guardrails';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { type ControlState, createLogger } from '@agentlens/platform';
import { aRule, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DecisionGateway } from '../decision-gateway.ts';
import { GatewayMetrics } from '../gateway-metrics.ts';
import { BookCache } from './book-cache.ts';
import { LocalDecisions } from './local-decisions.ts';

const AT = '2026-03-01T12:00:00.000Z';
const NOW = Date.parse(AT);
const NO_ORDER: ControlState = { kind: 'none', modelOverride: null };
const BLOCK_PAY = aRule({
  ...{ id: 'no-pay', conditionType: 'tool_name', conditionConfig: { operator: 'eq', value: 'pay' } },
  actionType: 'block',
});

const asking = (fields: Partial<DecisionRequest> = {}): DecisionRequest => ({
  ...{ tenantId: 'acme', agentId: 'bot', runId: 'run-1', phase: 'tool.before', tool: { name: 'pay', tags: [] } },
  ...{ args: {}, tags: {}, subjects: [], metrics: {}, deadlineMs: 1_000, receivedAt: AT, ...fields },
});

const ALLOWED: Decision = {
  ...{ id: 'd1', tenantId: 'acme', agentId: 'bot', runId: 'run-1', phase: 'tool.before', verdict: 'ALLOW' },
  ...{ control: 'CONTINUE', effect: 'allow', cause: { kind: 'ALLOW' }, message: 'Allowed', evaluatedRules: [] },
  ...{ bypasses: [], inputsDigest: '', latencyMs: 0, decidedAt: AT },
};

let bus: EventBus;
let book: TenantBook;
let answers: (() => TenantBookAnswer | Promise<TenantBookAnswer>) | undefined;
let asked: {
  readonly tenantId: string;
  readonly reread?: boolean | undefined;
  readonly announced?: string | undefined;
}[];
let mono: number;
let random: number;
let counted: string[];
let evicted: number;
let published: unknown[];
let reasons: unknown[];
let closing: (() => Promise<unknown>)[];

beforeEach(async () => {
  bus = createMemoryBus();
  book = bookOf([BLOCK_PAY]);
  answers = () => ({ kind: 'book', nowMs: NOW, book });
  [asked, counted, published, reasons, mono, random, evicted] = [[], [], [], [], 1_000_000, 1, 0];
  closing = [];
});
afterEach(async () => {
  for (const close of closing) await close();
  await bus.close();
});

function bookOf(rules: readonly GuardrailRule[], fields: Partial<TenantBook> = {}): TenantBook {
  const version = JSON.stringify(rules.map(({ id, version: of }) => [id, of]));
  return { version, limitsVersion: 'l1', rules: [...rules], budgets: [], openBreakers: [], ...fields };
}

/** An evaluator that answers with `answers`, and counts what it is asked. */
async function serveBooks() {
  const served = await bus.serve(COMMANDS.tenantBook, async ({ tenantId, reread, announced }) => {
    asked.push({ tenantId, reread, announced });
    if (answers === undefined) throw new Error('the database is away');
    return { ok: true as const, value: await answers() };
  });
  closing.push(() => served.close());
  return served;
}

async function gateway({ ttlMs = 30_000, orders = { silentMs: 0 } } = {}) {
  const logger = createLogger({ name: 'test', level: 'silent' });
  const metrics = Object.assign(new GatewayMetrics('test'), {
    evictedBook: () => (evicted += 1),
    decidedBy: (by: string, reason: string) => counted.push(`${by} ${reason}`),
    differs: () => counted.push('differs'),
  });
  const times = { clock: fixedClock(AT), monotonicMs: () => mono };
  const books = new BookCache({ bus, orders, guardrails, metrics, logger, bookTtlMs: ttlMs, ...times });
  await books.start();
  closing.push(() => books.stop());
  const local = new LocalDecisions({
    ...{ books, guardrails, metrics, logger, random: () => random, ...times },
    publisher: { offer: (decision) => published.push(decision) },
    decided: { decided: () => undefined },
  });
  let evaluated: Partial<Decision> = {};
  let inForce = NO_ORDER;
  const served = await bus.serve(COMMANDS.decide, async ({ because }) => {
    reasons.push(because);
    return { ok: true as const, value: { ...ALLOWED, ...evaluated } };
  });
  closing.push(() => served.close());
  const recorder = { record: async () => undefined };
  const board = { stateOf: () => inForce };
  const decisions = new DecisionGateway({ bus, board, recorder, metrics, logger, path: { local }, clock: times.clock });
  const ask = (request = asking(), answer: Partial<Decision> = {}, order = NO_ORDER) => {
    [evaluated, inForce] = [answer, order];
    return decisions.decide(request, { failMode: 'allow' });
  };
  /** Decides a call whose run and rules are known. */
  const known = async () => {
    await ask();
    await books.settled();
    await ask();
    return ask();
  };
  return { ask, known, books, local };
}

describe('a gateway that decides', () => {
  it('asks about the first call, and then decides and publishes as the evaluator', async () => {
    await serveBooks();
    const { known, local } = await gateway();
    const { decision, by } = await known();
    expect(published).toEqual([]);
    local.recordNow();
    expect(by).toBe('gateway');
    expect(decision).toMatchObject({ verdict: 'BLOCK', finalRuleId: 'no-pay', reason: 'rule', decidedAt: AT });
    expect(counted).toEqual(['evaluator stale', 'evaluator first', 'gateway known']);
    expect(published).toEqual([{ ...decision, decider: { by: 'gateway', book: book.version }, toolTags: [] }]);
  });

  it('asks with its reason and the rule behind it', async () => {
    const twoPays = { conditionType: 'max_calls', conditionConfig: { tools: ['pay'], max: 2 }, actionType: 'block' };
    book = bookOf([BLOCK_PAY, aRule({ id: 'two-pays', ...twoPays })]);
    await serveBooks();
    const { known, ask } = await gateway();
    await known();
    await ask(asking({ phase: 'llm.before', tool: undefined }));
    expect(reasons).toEqual([
      { asked: 'stale' },
      { asked: 'first' },
      { asked: 'needs_state', askedForRule: 'two-pays' },
      { asked: 'model_call' },
    ]);
  });

  it('applies an order without asking', async () => {
    await serveBooks();
    const { ask, known } = await gateway();
    await known();
    const because = { id: 'order-1', scope: 'agent', reason: 'incident 7', since: '' } as const;
    const { decision, by } = await ask(
      asking({ runId: 'run-9' }),
      {},
      { kind: 'killed', because, modelOverride: null },
    );
    expect(by).toBe('gateway');
    expect(decision).toMatchObject({ control: 'TERMINATE', cause: { kind: 'LOCKDOWN', lockdownId: 'order-1' } });
  });

  it('asks from the announcement of a change until the changed rules arrive', async () => {
    await serveBooks();
    const { ask, known, books } = await gateway();
    await known();
    const held = Promise.withResolvers<void>();
    book = bookOf([]);
    answers = async () => {
      await held.promise;
      return { kind: 'book', nowMs: NOW, book };
    };
    await bus.publish(rulesChanged, { tenantId: 'acme', version: 'v2', at: AT });
    expect((await ask()).by).toBe('evaluator');
    expect(asked.at(-1)).toEqual({ tenantId: 'acme', reread: true, announced: 'v2' });
    held.resolve();
    await books.settled();
    expect(await ask()).toMatchObject({ by: 'gateway', decision: { verdict: 'ALLOW' } });
  });

  it('asks about a run with a breaker that is due, and again about a run after 30 s', async () => {
    await serveBooks();
    const { ask, known, books } = await gateway();
    await known();
    await bus.publish(breakersDue, { tenantId: 'acme', breakers: [{ scope: 'run', scopeId: 'run-1' }], at: AT });
    await ask();
    expect(counted.at(-1)).toBe('evaluator breaker');
    mono += 61_000;
    await ask();
    await books.settled();
    await ask();
    expect(counted.slice(-2)).toEqual(['evaluator stale', 'gateway known']);
    mono += 31_000;
    books.tick();
    await books.settled();
    await ask();
    expect(counted.at(-1)).toBe('evaluator first');
    await ask();
    expect(counted.at(-1)).toBe('gateway known');
  });

  it('does not rely on a check of breakers that failed', async () => {
    await serveBooks();
    const { ask, books } = await gateway();
    await ask();
    await books.settled();
    const failed = { bypasses: [{ ruleId: 'circuit_breaker', why: 'unavailable', did: 'allow' }] } as const;
    for (let times = 0; times < 2; times++) await ask(asking(), { bypasses: [...failed.bypasses] });
    expect(counted.slice(1)).toEqual(['evaluator first', 'evaluator first']);
  });

  it('asks after a limit of breakers changed, until the run was checked again', async () => {
    await serveBooks();
    const { ask, known, books } = await gateway();
    await known();
    book = bookOf([BLOCK_PAY], { version: 'v2', limitsVersion: 'l2' });
    await bus.publish(rulesChanged, { tenantId: 'acme', version: 'v2', at: AT });
    await books.settled();
    await ask();
    await ask();
    expect(counted.slice(-2)).toEqual(['evaluator first', 'gateway known']);
  });

  it('asks if the suspension of a rule has ended', async () => {
    book = bookOf([BLOCK_PAY], { endsAt: AT });
    await serveBooks();
    const { known } = await gateway();
    await known();
    expect(counted.at(-1)).toBe('evaluator stale');
  });

  it('asks for a tenant with a rule that is not known here, or with too many rules', async () => {
    book = bookOf([{ ...BLOCK_PAY, conditionType: 'from_the_future' }]);
    await serveBooks();
    const { known, ask, books } = await gateway();
    await known();
    expect(counted.at(-1)).toBe('evaluator stale');
    answers = () => ({ kind: 'too_large', nowMs: NOW });
    await bus.publish(rulesChanged, { tenantId: 'acme', version: 'v2', at: AT });
    await books.settled();
    await ask();
    expect(counted.at(-1)).toBe('evaluator stale');
  });
});

describe('while the bus cannot be watched', () => {
  it('the gateway asks until its orders are recent', async () => {
    await serveBooks();
    const orders = { silentMs: 3_001 };
    const { ask, known } = await gateway({ orders });
    await known();
    expect(counted.at(-1)).toBe('evaluator stale');
    orders.silentMs = 3_000;
    await ask();
    expect(counted.at(-1)).toBe('gateway known');
  });

  it('the gateway asks, and decides once it is', async () => {
    await serveBooks();
    const watch = bus.watch.bind(bus);
    bus.watch = async () => {
      throw new Error('away');
    };
    const { ask, known, books } = await gateway();
    await known();
    expect(counted.at(-1)).toBe('evaluator stale');
    bus.watch = watch;
    for (let seconds = 0; seconds < 2; seconds++) {
      mono += 1_000;
      books.tick();
      await books.settled();
    }
    await ask();
    expect(counted.at(-1)).toBe('gateway known');
  });
});

describe('without an evaluator', () => {
  it('the gateway decides by the rules it has for their time, and then asks', async () => {
    const served = await serveBooks();
    const { ask, known, books } = await gateway();
    await known();
    await served.close();
    const later = async (ms: number) => {
      mono += ms;
      books.tick();
      await books.settled();
      return (await ask(asking({ runId: 'run-1' }))).by;
    };
    expect(await later(1_000)).toBe('gateway');
    expect(await later(28_000)).toBe('gateway');
    expect(await later(1_500)).toBe('evaluator');
    expect(counted.at(-1)).toBe('evaluator stale');
  });

  it('the gateway asks if the connection is silent, although its rules are new', async () => {
    await serveBooks();
    const { ask, known, books } = await gateway();
    await known();
    const held = Promise.withResolvers<void>();
    answers = async () => {
      await held.promise;
      return { kind: 'unchanged', nowMs: NOW };
    };
    mono += 1_000;
    books.tick();
    mono += 2_500;
    await ask();
    expect(counted.at(-1)).toBe('evaluator stale');
    held.resolve();
  });
});

describe('a sampled decision', () => {
  it('is made by the evaluator, and switches the tenant to it for 10 minutes if it differs', async () => {
    await serveBooks();
    const { ask, known, books, local } = await gateway();
    await known();
    random = 0;
    const { decision, by } = await ask();
    expect([by, decision.verdict]).toEqual(['evaluator', 'ALLOW']);
    await local.compared();
    expect(counted.slice(-2)).toEqual(['evaluator sampled', 'differs']);
    random = 1;
    await ask();
    expect(counted.at(-1)).toBe('evaluator setting');
    mono += 600_001;
    await ask();
    await books.settled();
    await ask();
    expect(counted.at(-1)).toBe('gateway known');
  });

  it('may differ if a changed rule or an order reached the evaluator first', async () => {
    await serveBooks();
    const { ask, known, books, local } = await gateway();
    await known();
    random = 0;
    book = bookOf([]);
    await ask();
    await local.compared();
    book = bookOf([BLOCK_PAY]);
    await books.isCurrent('acme', {
      ...{ version: 'other', rules: guardrails.DecisionBook.EMPTY, budgets: [], clockOffsetMs: 0 },
    });
    await ask(asking(), { reason: 'order', verdict: 'BLOCK' });
    await local.compared();
    expect(counted.slice(-2)).toEqual(['evaluator sampled', 'evaluator sampled']);
  });

  it('changes nothing if it is the same', async () => {
    await serveBooks();
    const { ask, known } = await gateway();
    const { decision } = await known();
    random = 0;
    await ask(asking(), { ...decision, id: 'another', latencyMs: 7 });
    random = 1;
    await ask();
    expect(counted.slice(-2)).toEqual(['evaluator sampled', 'gateway known']);
  });
});

describe('the rules of many tenants', () => {
  it('are dropped beyond 500, least recently used first, and counted', async () => {
    await serveBooks();
    const { books } = await gateway();
    for (let at = 0; at < 500; at++) books.use(`tenant-${at}`);
    books.use('tenant-0');
    books.use('one-more');
    await books.settled();
    expect(evicted).toBe(1);
    expect(books.use('tenant-0').book).toBeDefined();
    expect(books.use('tenant-1').book).toBeUndefined();
  });
});
