import { BreakerLimits } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { type Breaker, type CallUsage, CLOSED_BREAKER, check, record, trip } from './breaker.ts';
import { DEFAULT_BREAKER_LIMITS } from './default-limits.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const limits = (some: Partial<BreakerLimits> = {}): BreakerLimits => ({ ...DEFAULT_BREAKER_LIMITS, ...some });
const after = (...calls: CallUsage[]): Breaker =>
  calls.reduce((breaker, used) => record(breaker, used, NOW), CLOSED_BREAKER);
const times = (count: number, used: CallUsage): CallUsage[] => Array.from({ length: count }, () => used);

describe('the default limits', () => {
  it('equal the defaults of the contract', () => {
    expect(DEFAULT_BREAKER_LIMITS).toEqual(BreakerLimits.parse({}));
  });
});

describe('a closed breaker', () => {
  it.each([
    ['tokens', { tokens: 200_000 }, { tokens: 1 }],
    ['iterations', { iterations: 50 }, { iterations: 1 }],
    ['cost', { costUsd: 10 }, { costUsd: 0.01 }],
  ] as const)('allows a call at the limit of %s and opens above it', (reason, at, more) => {
    expect(check(after(at), limits(), NOW)).toMatchObject({ allowed: true });
    expect(check(after(at, more), limits(), NOW)).toMatchObject({
      allowed: false,
      tripped: true,
      reason,
      breaker: { state: { kind: 'open', reason, openedAt: '2026-03-01T12:00:00.000Z' } },
    });
  });

  it('allows the last iteration within the limit and rejects the next', () => {
    const next = { iterations: 1 };
    expect(check(after({ iterations: 49 }), limits(), NOW, next).allowed).toBe(true);
    expect(check(after({ iterations: 50 }), limits(), NOW, next)).toMatchObject({
      allowed: false,
      reason: 'iterations',
    });
  });

  it('rejects a call whose estimate exceeds the limit', () => {
    expect(check(after({ costUsd: 9 }), limits(), NOW, { costUsd: 1 }).allowed).toBe(true);
    expect(check(after({ costUsd: 9 }), limits(), NOW, { costUsd: 1.01 }).allowed).toBe(false);
  });

  it('treats a hundred times 0.10 USD as 10 USD', () => {
    expect(check(after(...times(100, { costUsd: 0.1 })), limits(), NOW).allowed).toBe(true);
    expect(check(after(...times(101, { costUsd: 0.1 })), limits(), NOW).allowed).toBe(false);
  });

  it('counts consecutive failures and resets the count on a success', () => {
    const failures = times(limits().maxConsecutiveFailures, { outcome: 'failure' as const });
    expect(check(after(...failures), limits(), NOW).allowed).toBe(true);
    expect(check(after(...failures, { outcome: 'failure' }), limits(), NOW)).toMatchObject({ reason: 'failures' });
    expect(check(after(...failures, { outcome: 'success' }, ...failures), limits(), NOW).allowed).toBe(true);
    expect(check(after(...failures, { tokens: 1 }, { outcome: 'failure' }), limits(), NOW).allowed).toBe(false);
  });

  it('resets the failure count only on a success of the failing kind', () => {
    const row = times(3, { outcome: 'failure', of: 'tool' });
    const count = (...calls: CallUsage[]) => after(...row, ...calls).usage.consecutiveFailures;
    expect(count({ outcome: 'success', of: 'llm' })).toBe(3);
    expect(count({ outcome: 'success', of: 'tool' })).toBe(0);
    expect(count({ outcome: 'failure', of: 'llm' }, { outcome: 'success', of: 'tool' })).toBe(4);
    expect(count({ outcome: 'failure', of: 'llm' }, { outcome: 'success', of: 'llm' })).toBe(0);
    expect(count({ outcome: 'success' })).toBe(0);
  });

  it('opens when confidence drifts down, not after one bad report', () => {
    const reports = (...values: number[]) => after(...values.map((confidence) => ({ confidence })));
    expect(check(reports(0.9, 0.8, 0.7, 0.6, 0.5), limits(), NOW)).toMatchObject({ reason: 'confidence' });
    expect(check(reports(0.9, 0.9, 0.4, 0.9, 0.9), limits(), NOW).allowed).toBe(true);
    expect(check(reports(0.5, 0.6, 0.7, 0.8, 0.9), limits(), NOW).allowed).toBe(true);
    expect(check(reports(0.9, 0.6, 0.3), limits(), NOW).allowed).toBe(true);
    expect(check(reports(1, 0.5, 0.4, 0.3, 0.1), limits({ maxConfidenceDrop: null }), NOW).allowed).toBe(true);
  });

  it('allows a confidence drop of exactly the limit', () => {
    const falling = after(...[0.9, 0.8, 0.7, 0.6, 0.5].map((confidence) => ({ confidence })));
    expect(check(falling, limits({ maxConfidenceDrop: 0.4 }), NOW).allowed).toBe(true);
    expect(check(falling, limits({ maxConfidenceDrop: 0.39 }), NOW).allowed).toBe(false);
  });

  it('ignores invalid usage', () => {
    const nonsense = { tokens: Number.NaN, costUsd: -5, iterations: Number.POSITIVE_INFINITY, confidence: 7 };
    expect(after(nonsense)).toEqual(CLOSED_BREAKER);
  });
});

describe('an open breaker', () => {
  const opened = trip(after({ tokens: 5 }), 'cost', NOW);

  it('stays open for every caller until it is reset', () => {
    const never = check(opened, limits(), NOW + 1e12, { by: 'a' });
    expect(never).toMatchObject({ allowed: false, tripped: false, reason: 'cost' });
    expect(check(CLOSED_BREAKER, limits(), NOW).allowed).toBe(true);
  });

  it('keeps its first reason', () => {
    expect(trip(opened, 'operator', NOW + 1)).toBe(opened);
  });

  it('lets exactly one probe through after the waiting time', () => {
    const waiting = limits({ probeAfterSeconds: 60 });
    expect(check(opened, waiting, NOW + 59_999, { by: 'a' }).allowed).toBe(false);
    const probe = check(opened, waiting, NOW + 60_000, { by: 'a' });
    expect(probe).toMatchObject({ allowed: true, probe: true, breaker: { state: { kind: 'half_open', probe: 'a' } } });
    expect(check(probe.breaker, waiting, NOW + 60_001, { by: 'b' }).allowed).toBe(false);
    expect(check(probe.breaker, waiting, NOW + 60_001).allowed).toBe(false);
    expect(check(probe.breaker, waiting, NOW + 60_001, { by: 'a' }).allowed).toBe(true);
  });

  it('lets no unnamed caller probe', () => {
    expect(check(opened, limits({ probeAfterSeconds: 1 }), NOW + 60_000).allowed).toBe(false);
  });
});

describe('a half-open breaker', () => {
  const waiting = limits({ probeAfterSeconds: 60 });
  const probed = check(trip(after({ costUsd: 11 }), 'cost', NOW), waiting, NOW + 60_000, { by: 'a' }).breaker;

  it('closes with a new count when its probe succeeds', () => {
    expect(record(probed, { by: 'a', outcome: 'success', costUsd: 1 }, NOW)).toBe(CLOSED_BREAKER);
  });

  it('opens again when its probe fails, and waits again', () => {
    const reopened = record(probed, { by: 'a', outcome: 'failure' }, NOW + 61_000);
    expect(reopened.state).toEqual({ kind: 'open', reason: 'cost', openedAt: '2026-03-01T12:01:01.000Z' });
    expect(check(reopened, waiting, NOW + 120_000, { by: 'b' }).allowed).toBe(false);
    expect(check(reopened, waiting, NOW + 121_000, { by: 'b' }).allowed).toBe(true);
  });

  it('ignores outcomes of calls that began before it opened', () => {
    expect(record(probed, { by: 'late', outcome: 'success' }, NOW).state).toEqual(probed.state);
    expect(record(probed, { outcome: 'failure' }, NOW).state).toEqual(probed.state);
    expect(record(probed, { by: 'a', tokens: 5 }, NOW).state).toEqual(probed.state);
  });

  it('replaces a lost probe', () => {
    const another = check(probed, waiting, NOW + 120_000, { by: 'b' });
    expect(another).toMatchObject({ allowed: true, breaker: { state: { probe: 'b' } } });
    expect(record(another.breaker, { by: 'a', outcome: 'success' }, NOW).state.kind).toBe('half_open');
  });
});

describe('an invalid clock', () => {
  it.each([Number.NaN, 1e300, -1])('(%p) does not keep a breaker from opening', (now) => {
    expect(check(after({ costUsd: 11 }), limits(), now)).toMatchObject({ allowed: false, reason: 'cost' });
  });
});

describe('a breaker as a value', () => {
  it('survives JSON', () => {
    const used = after({ tokens: 5, costUsd: 0.25, confidence: 0.5, outcome: 'failure' });
    expect(JSON.parse(JSON.stringify(trip(used, 'tokens', NOW)))).toEqual(trip(used, 'tokens', NOW));
  });

  it('keeps no more reports than the largest window', () => {
    expect(after(...times(200, { confidence: 0.5 })).usage.confidences).toHaveLength(50);
  });
});
