import type { Decision, DecisionRequest } from '@agentlens/contracts';
import { createLogger, type PriceBooks } from '@agentlens/platform';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { Connection } from '../connections/connections.ts';
import type { GatewayCall } from '../gateway-call.ts';
import { Admission } from './admission.ts';

const CALL = {
  ...{ id: 'gw-1', tenantId: 'acme', agentId: 'bot', runId: 'run-1', model: 'm', body: new Uint8Array() },
  connection: { name: 'openai', provider: 'openai' },
  caller: { keyId: 'k', eventsPerSecond: 10, asksAgain: false },
  request: { tools: [], serverTools: [], streamed: true, attachments: 0 },
  startedAtMs: 0,
} as unknown as GatewayCall;
const USAGE = { tokens: 1_000, costUsd: 1 };
/** What the call costs at each provider, in USD. */
const PRICES: Readonly<Record<string, number>> = { openai: 1, dear: 3, cheap: 0.5 };
const ALLOWED = { id: 'd-1', verdict: 'ALLOW', control: 'CONTINUE', effect: 'allow', cause: { kind: 'ALLOW' } };
const ALLOW = { ...ALLOWED, bypasses: [] };
const BLOCKED = { ...ALLOWED, verdict: 'BLOCK', effect: 'block', message: 'No' };
/** By the fail mode, or by a budget that could not be asked. */
const UNDECIDED = [
  { ...BLOCKED, reason: 'unjudged', bypasses: [{ ruleId: '*', why: 'unavailable', did: 'block' }] },
  { ...BLOCKED, reason: 'budget', bypasses: [{ ruleId: 'b-1', why: 'deadline', did: 'block' }] },
];
const SPENT = { ...BLOCKED, reason: 'budget', bypasses: [] };

/** An admission with decisions in the order in which they are asked for; the last one repeats. */
function admissionWith(...decisions: readonly object[]) {
  const clock = fixedClock();
  const lacks: number[] = [];
  const questions: DecisionRequest[] = [];
  let waitedMs = 0;
  const admission = new Admission({
    decisions: {
      decide: async (question) => ({
        decision: (decisions[questions.push(question) - 1] ?? decisions.at(-1)) as unknown as Decision,
        by: 'evaluator',
      }),
    },
    runs: { completed: async (request) => request },
    trees: { running: async () => undefined },
    quota: { take: async () => ({ allowed: true, limit: 100, remaining: 99, retryAfterMs: 0 }) },
    estimates: {
      estimate: ({ provider }) => {
        const costUsd = PRICES[provider] ?? 0;
        return { stepTokens: 1_000, maxTokens: undefined, usageAt: () => ({ ...USAGE, costUsd }) };
      },
    },
    prices: { of: () => undefined as unknown as ReturnType<PriceBooks['of']> },
    standing: {
      find: async () => ({ lackedUsd: 0 }),
      noteLack: async (_tenantId, _runId, lackedUsd) => void lacks.push(lackedUsd),
    },
    clock,
    logger: createLogger({ name: 'test', level: 'silent' }),
    pause: async (ms, signal) => {
      signal.throwIfAborted();
      waitedMs += ms;
      clock.advance(ms);
    },
  });
  return { admission, lacks, questions, asked: () => questions.length, waitedMs: () => waitedMs };
}

/** A call that was admitted, with the decisions about its next step. */
async function admittedWith(...decisions: readonly object[]) {
  const { admission, asked, ...rest } = admissionWith(ALLOW, ...decisions);
  const ended = new AbortController();
  const { grow, reprice } = await admission.require(CALL, ended.signal);
  return {
    ...rest,
    grow: () => grow(USAGE, USAGE, ended.signal),
    reprice: (provider: string) => reprice({ name: provider, provider } as Connection, ended.signal),
    ended,
    asked: () => asked() - 1,
  };
}

describe('a call that cannot be decided at once', () => {
  const { signal } = new AbortController();

  it.each(UNDECIDED)('is admitted after a peak of load: $reason', async (undecided) => {
    const { admission, asked } = admissionWith(undecided, undecided, ALLOW);
    await admission.require(CALL, signal);
    expect(asked()).toBe(3);
  });

  it.each(UNDECIDED)('is refused by the fail mode after ten seconds: $reason', async (undecided) => {
    const { admission, waitedMs } = admissionWith(undecided);
    await expect(admission.require(CALL, signal)).rejects.toMatchObject({ name: 'RefusedCall' });
    expect(waitedMs()).toBeGreaterThanOrEqual(10_000);
    expect(waitedMs()).toBeLessThan(15_000);
  });

  it('passes at once if the fail mode allows it', async () => {
    const { admission, asked } = admissionWith({
      ...ALLOWED,
      bypasses: [{ ruleId: '*', why: 'unavailable', did: 'allow' }],
    });
    await admission.require(CALL, signal);
    expect(asked()).toBe(1);
  });

  it('is asked about once if it is refused', async () => {
    const { admission, asked } = admissionWith({ ...BLOCKED, reason: 'rule', bypasses: [] });
    await expect(admission.require(CALL, signal)).rejects.toMatchObject({ refusal: { code: 'agentlens_blocked' } });
    expect(asked()).toBe(1);
  });
});

describe('an open answer that asks for its next step', () => {
  it.each(UNDECIDED)('goes on after a peak of load, asked again after $reason', async (undecided) => {
    const { grow, asked } = await admittedWith(undecided, undecided, ALLOW);
    expect(await grow()).toBeUndefined();
    expect(asked()).toBe(3);
  });

  it.each(UNDECIDED)('ends by the fail mode after half a minute without an answer: $reason', async (undecided) => {
    const { grow, lacks, waitedMs } = await admittedWith(undecided);
    expect(await grow()).toMatchObject({ kind: 'policy', code: 'agentlens_stopped' });
    expect(waitedMs()).toBeGreaterThanOrEqual(30_000);
    expect(waitedMs()).toBeLessThan(35_000);
    // No budget was found to lack anything.
    expect(lacks).toEqual([]);
  });

  it('ends at once when its budget is spent, which the next calls of the run meet, too', async () => {
    const { grow, asked, lacks } = await admittedWith(SPENT);
    expect(await grow()).toMatchObject({ kind: 'money', code: 'agentlens_budget' });
    expect([asked(), lacks.length]).toEqual([1, 1]);
  });

  it('asks no more when it has ended', async () => {
    const { grow, asked, ended } = await admittedWith(UNDECIDED[0] ?? {});
    ended.abort();
    expect(await grow()).toBeUndefined();
    expect(asked()).toBe(1);
  });
});

describe('a call that goes to the fallback of its connection', () => {
  it('replaces its reservation if the fallback costs more, and asks no rule again', async () => {
    const { reprice, questions, asked } = await admittedWith(ALLOW);
    const estimate = await reprice('dear');
    expect(estimate?.usageAt(0)).toMatchObject({ costUsd: 3 });
    expect(asked()).toBe(1);
    const [first, second] = questions;
    expect(second).toEqual({ ...first, estimate: { tokens: 1_000, costUsd: 3 }, grows: true });
  });

  it.each(['openai', 'cheap'])('keeps its reservation if the fallback costs no more: %s', async (provider) => {
    const { reprice, asked } = await admittedWith(SPENT);
    expect((await reprice(provider))?.usageAt(0)).toMatchObject({ costUsd: PRICES[provider] });
    expect(asked()).toBe(0);
  });

  it.each([
    ['a budget has no room for it', SPENT],
    ['an order has killed its run', { ...BLOCKED, reason: 'order', control: 'TERMINATE', bypasses: [] }],
  ])('does not go if %s, and leaves the next calls of the run alone', async (_why, refused) => {
    const { reprice, asked, lacks } = await admittedWith(refused);
    expect(await reprice('dear')).toBeUndefined();
    expect([asked(), lacks]).toEqual([1, []]);
  });
});
