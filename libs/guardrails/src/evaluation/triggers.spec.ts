import { aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { activate, type TickRule } from '../rules/active-rule.ts';
import { minuteOf, tick } from './triggers.ts';

function healthRule(): TickRule {
  const active = activate(aRule({ conditionType: 'health_score_threshold', conditionConfig: { minScore: 50 } }));
  if (!active.ok || active.value.cadence !== 'tick') throw new Error('expected a tick rule');
  return active.value;
}

const AT = Date.parse('2026-03-01T12:00:07.000Z');

describe('tick', () => {
  it('fires below the minimum score, dated at the minute', () => {
    expect(tick(healthRule(), 'a', 49.9, AT)).toMatchObject({
      value: 49.9,
      trigger: { triggeredAt: '2026-03-01T12:00:00.000Z', conditionValue: 49.9, agentId: 'a' },
    });
  });

  it.each([50, 100])('does not fire at %d', (score) => {
    expect(tick(healthRule(), 'a', score, AT)).toEqual({ value: score, trigger: null });
  });

  it('does not fire without data', () => {
    expect(tick(healthRule(), 'a', null, AT)).toEqual({ value: null, trigger: null });
  });

  it('creates the same trigger on every replica within a minute and another in the next', () => {
    const rule = healthRule();
    const ids = [AT, AT + 40_000, AT + 60_000].map((at) => tick(rule, 'a', 1, at).trigger?.id);
    expect(ids[0]).toBe(ids[1]);
    expect(ids[0]).not.toBe(ids[2]);
    expect(minuteOf(AT)).toBe(Date.parse('2026-03-01T12:00:00.000Z'));
  });
});
