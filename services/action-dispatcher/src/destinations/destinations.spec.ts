import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  admit,
  ByDestination,
  CLOSED,
  type DestinationBreaker,
  DestinationBreakers,
  FAILURES_TO_OPEN,
  learn,
  Paces,
  PROBE_MS,
} from './destinations.ts';

const LONGEST_WAIT_MS = 600_000;

function failing(times: number, nowMs: number, from: DestinationBreaker = CLOSED): DestinationBreaker {
  return Array.from({ length: times }).reduce<DestinationBreaker>((breaker) => learn(breaker, 'down', nowMs), from);
}

function opened(nowMs: number): Extract<DestinationBreaker, { state: 'open' }> {
  const breaker = failing(FAILURES_TO_OPEN, nowMs);
  if (breaker.state !== 'open') throw new Error('expected it to be open');
  return breaker;
}

describe('breaker', () => {
  it('opens after consecutive failures, not before', () => {
    expect(failing(FAILURES_TO_OPEN - 1, 0).state).toBe('closed');
    expect(failing(FAILURES_TO_OPEN, 0).state).toBe('open');
  });

  it('resets the failure count on a response', () => {
    const breaker = learn(failing(FAILURES_TO_OPEN - 1, 0), 'up', 0);
    expect(failing(FAILURES_TO_OPEN - 1, 0, breaker).state).toBe('closed');
  });

  it('allows one probe after its wait and closes if that succeeds', () => {
    const breaker = opened(0);
    const first = admit(breaker, breaker.retryAtMs);
    expect(first.admission).toEqual({ admitted: true });
    expect(admit(first.breaker, breaker.retryAtMs).admission.admitted).toBe(false);
    expect(learn(first.breaker, 'up', breaker.retryAtMs)).toEqual(CLOSED);
  });

  it('waits longer after each failed probe', () => {
    const breaker = opened(0);
    const probing = admit(breaker, breaker.retryAtMs).breaker;
    const again = learn(probing, 'down', breaker.retryAtMs);
    expect(again.state === 'open' && again.retryAtMs - breaker.retryAtMs).toBe(breaker.retryAtMs * 2);
  });

  it('does not wait forever for a probe without a result', () => {
    const breaker = opened(0);
    const probing = admit(breaker, breaker.retryAtMs).breaker;
    expect(admit(probing, breaker.retryAtMs + PROBE_MS).admission.admitted).toBe(true);
  });

  it('ignores failures of calls that were in progress when it opened', () => {
    const breaker = opened(0);
    expect(learn(breaker, 'down', 10)).toEqual(breaker);
  });

  const step = fc.record({
    afterMs: fc.integer({ min: 0, max: 120_000 }),
    act: fc.constantFrom('ask', 'up', 'down'),
  });

  it('admits nothing while open, one probe at a time, and never exceeds its maximum wait', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        let now = 0;
        let breaker: DestinationBreaker = CLOSED;
        let failures = 0;
        for (const { afterMs, act } of steps) {
          now += afterMs;
          const before: DestinationBreaker = breaker;
          if (act === 'ask') {
            const answer = admit(before, now);
            breaker = answer.breaker;
            if (before.state === 'closed') expect(answer.admission.admitted).toBe(true);
            if (before.state === 'open' && now < before.retryAtMs) expect(answer.admission.admitted).toBe(false);
            if (before.state === 'half_open' && now < before.probeEndsMs) expect(answer.admission.admitted).toBe(false);
            if (!answer.admission.admitted) expect(answer.admission.retryAtMs).toBeGreaterThan(now);
            continue;
          }
          failures = act === 'up' ? 0 : failures + 1;
          breaker = learn(before, act === 'up' ? 'up' : 'down', now);
          if (act === 'up') expect(breaker).toEqual(CLOSED);
          if (failures < FAILURES_TO_OPEN) expect(breaker.state).toBe('closed');
          if (breaker.state === 'open' && before.state !== 'open') {
            expect(breaker.retryAtMs - now).toBeLessThanOrEqual(LONGEST_WAIT_MS);
          }
        }
      }),
    );
  });
});

describe('breakers of destinations', () => {
  const one = { tenantId: 'acme', id: 'a' };

  it('keep destinations and tenants apart and can be reset manually', () => {
    const breakers = new DestinationBreakers();
    for (let i = 0; i < FAILURES_TO_OPEN; i++) breakers.learn(one, 'down', 0);
    expect(breakers.admit(one, 1).admitted).toBe(false);
    expect(breakers.admit({ tenantId: 'acme', id: 'b' }, 1).admitted).toBe(true);
    expect(breakers.admit({ tenantId: 'other', id: 'a' }, 1).admitted).toBe(true);
    expect(breakers.unwell).toBe(1);
    breakers.reset(one);
    expect(breakers.admit(one, 1).admitted).toBe(true);
  });
});

it('evicts the entry that was set longest ago when it is full', () => {
  const known = new ByDestination<number>();
  const to = (n: number) => ({ tenantId: 'acme', id: `hook-${n}` });
  for (let n = 0; n < 10_000; n++) known.set(to(n), n);
  known.set(to(0), 0);
  known.set(to(10_000), 10_000);
  expect([known.get(to(0)), known.get(to(1)), known.get(to(2))]).toEqual([0, undefined, 2]);
  expect([...known.values()]).toHaveLength(10_000);
});

const hook = { tenantId: 'acme', id: 'hook' };

describe('the pace of a destination', () => {
  let paces: Paces;
  beforeEach(() => {
    paces = new Paces();
  });
  const quickly = (times: number) => {
    for (let n = 0; n < times; n++) paces.learn(hook, true, 20);
  };

  it('starts at 1 and grows with consecutive fast responses up to 4', () => {
    const seen = [paces.of(hook)];
    for (let n = 0; n < 5; n++) {
      quickly(16);
      seen.push(paces.of(hook));
    }
    expect(seen).toEqual([1, 2, 3, 4, 4, 4]);
  });

  it.each([
    ['a failure', false, 20],
    ['a slow answer', true, 500],
  ])('is reset by %s', (_what, accepted, durationMs) => {
    quickly(64);
    paces.learn(hook, accepted, durationMs);
    expect(paces.of(hook)).toBe(1);
  });

  it('belongs to one tenant and one address', () => {
    quickly(64);
    expect([paces.of({ ...hook, tenantId: 'beta' }), paces.of({ ...hook, id: 'other' })]).toEqual([1, 1]);
  });
});
