import { describe, expect, it } from '@jest/globals';
import { ClosedBreakers } from './closed-breakers.ts';

const LIMITS = {};

function remembering() {
  let now = 0;
  const closed = new ClosedBreakers(() => now);
  const read = (runId: string, limits: unknown = LIMITS) => closed.reading('acme', 'agent', runId, limits).closed();
  const has = (runId: string, limits: unknown = LIMITS) => closed.has('acme', 'agent', runId, limits);
  return { closed, read, has, later: (ms: number) => (now += ms) };
}

describe('ClosedBreakers', () => {
  it('remembers a closed breaker for 250 ms from the start of the read', () => {
    const { read, has, later } = remembering();
    expect(has('run')).toBe(false);
    read('run');
    later(249);
    expect(has('run')).toBe(true);
    expect(has('other')).toBe(false);
    later(1);
    expect(has('run')).toBe(false);
  });

  it('forgets breakers when the agent or its limits change', () => {
    const { closed, read, has } = remembering();
    read('run');
    expect(has('run', {})).toBe(false);
    closed.forget('acme', 'agent');
    expect(has('run')).toBe(false);
  });

  it('does not remember a breaker if the agent changed during the read', () => {
    const { closed, has } = remembering();
    const reading = closed.reading('acme', 'agent', 'run', LIMITS);
    closed.forget('acme', 'agent');
    reading.closed();
    expect(has('run')).toBe(false);
  });

  it('remembers a bounded number of runs and agents', () => {
    const { closed, read, has } = remembering();
    for (let run = 0; run <= 200; run++) read(`run-${run}`);
    expect([has('run-0'), has('run-200')]).toEqual([false, true]);
    for (let agent = 0; agent < 5_000; agent++) closed.reading('acme', `agent-${agent}`, 'run', LIMITS).closed();
    expect(has('run-200')).toBe(false);
  });
});
