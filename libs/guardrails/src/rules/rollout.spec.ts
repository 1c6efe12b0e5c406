import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type GuardrailRule, ROLLOUT_UNITS, type RolloutUnit } from '@agentlens/contracts';
import { aBatch, anEvent, aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aDecisionRule, aRequest, NOW, someFacts } from '../decisions/call.testing.ts';
import { decide } from '../decisions/decide.ts';
import { fold } from '../evaluation/fold.ts';
import { planBatch } from '../evaluation/plan.ts';
import { RecountingStore } from '../evaluation/recounting-store.testing.ts';
import { activate } from './active-rule.ts';
import { bucketOf, isInRollout, placeInRollout } from './rollout.ts';
import { RuleBook } from './rule-book.ts';

interface Vector {
  readonly ruleId: string;
  readonly by: RolloutUnit;
  readonly unit: string;
  readonly bucket: number;
}

/** Computed with another implementation of the documented formula. */
const VECTORS: Vector[] = JSON.parse(readFileSync(join(import.meta.dirname, 'rollout-vectors.json'), 'utf8'));

const anyUnit = fc.constantFrom(...ROLLOUT_UNITS);
const aPercent = fc.integer({ min: 1, max: 10_000 }).map((hundredths) => hundredths / 100);

describe('the bucket of a unit', () => {
  it.each(VECTORS)('of $unit by $by under $ruleId is $bucket', ({ ruleId, by, unit, bucket }) => {
    expect(bucketOf(ruleId, by, unit)).toBe(bucket);
    if (bucket > 0) expect(isInRollout(ruleId, { percent: bucket / 100, by }, unit)).toBe(false);
    expect(isInRollout(ruleId, { percent: (bucket + 1) / 100, by }, unit)).toBe(true);
  });
});

describe('a rollout', () => {
  it('only gains units when its percentage rises', () => {
    fc.assert(
      fc.property(fc.string(), anyUnit, fc.string(), aPercent, aPercent, (ruleId, by, unit, one, other) => {
        const [less, more] = [Math.min(one, other), Math.max(one, other)];
        if (isInRollout(ruleId, { percent: less, by }, unit))
          expect(isInRollout(ruleId, { percent: more, by }, unit)).toBe(true);
        expect(isInRollout(ruleId, { percent: 100, by }, unit)).toBe(true);
      }),
    );
  });

  it.each([1, 10, 50])('of %i percent has that share of 100,000 units, within one percent', (percent) => {
    let count = 0;
    for (let n = 0; n < 100_000; n++) if (isInRollout('rule-1', { percent, by: 'run' }, `run-${n}`)) count += 1;
    expect(Math.abs(count / 1_000 - percent)).toBeLessThan(1);
  });

  it('never separates a run from its sub-runs', () => {
    fc.assert(
      fc.property(aPercent, fc.array(fc.uuid(), { minLength: 1, maxLength: 5 }), fc.uuid(), (percent, above, runId) => {
        const root = above.at(-1) ?? '';
        const rollout = { percent, by: 'tree' } as const;
        expect(placeInRollout('r', rollout, aRequest({ runId, ancestors: above }))).toBe(
          placeInRollout('r', rollout, aRequest({ runId: root })),
        );
      }),
    );
  });
});

const canary = (percent: number, fields: Partial<GuardrailRule> = {}, by: RolloutUnit = 'run') =>
  aDecisionRule({ id: 'r', mode: 'canary', rollout: { percent, by }, ...fields });
const ask = (rule: ReturnType<typeof canary>, request = {}) =>
  decide([rule], aRequest(request), someFacts(), Date.parse(NOW));

describe('a canary decision rule', () => {
  it('blocks calls of its share, and records the others as shadow', () => {
    const rule = canary(50);
    const effects = new Set<string>();
    for (let n = 0; n < 50; n++) {
      const runId = `run-${n}`;
      const { effect, wouldBe, findings } = ask(rule, { runId });
      const isIn = isInRollout('r', { percent: 50, by: 'run' }, runId);
      expect([effect, wouldBe, findings[0]?.mode]).toEqual(
        isIn ? ['block', 'block', 'enforce'] : ['allow', 'block', 'shadow'],
      );
      effects.add(effect);
    }
    expect([...effects].sort()).toEqual(['allow', 'block']);
  });

  it('only records a call without the unit of its rollout, and reports that', () => {
    expect(ask(canary(100, {}, 'actor'))).toMatchObject({
      ...{ effect: 'allow', wouldBe: 'block', findings: [{ mode: 'shadow' }] },
      bypasses: [{ ruleId: 'r', why: 'canary_unit', did: 'allow' }],
    });
    expect(ask(canary(100, {}, 'actor'), { actor: { externalId: 'ada' } })).toMatchObject({ effect: 'block' });
    const unmatched = canary(100, { conditionConfig: { value: 'other' } }, 'actor');
    expect(ask(unmatched)).toMatchObject({ effect: 'allow', bypasses: [] });
  });

  it('stays in shadow with dryRun, which is older than the modes', () => {
    expect(ask(canary(100, { dryRun: true }))).toMatchObject({ effect: 'allow', wouldBe: 'block' });
  });

  it('asks under the version in which its meaning changed, so that a promotion asks no one again', () => {
    const rule = { actionType: 'require_approval', version: 7, meaningVersion: 3 };
    expect(ask(canary(100, rule)).ask).toMatchObject({ ruleId: 'r', ruleVersion: 3 });
    expect(ask(canary(100, rule)).findings).toMatchObject([{ ruleVersion: 7 }]);
  });
});

describe('a canary rule on events', () => {
  it('fires for the agents of its share, and records triggers of the others as dry runs', () => {
    const rollout = { percent: 50, by: 'agent' } as const;
    const active = activate(aRule({ id: 'r', mode: 'canary', rollout, conditionConfig: { threshold: 1 } }));
    if (!active.ok) throw new Error(active.reason);
    const book = RuleBook.EMPTY.withTenant('acme', [active.value]);
    const store = new RecountingStore();
    const agents = Array.from({ length: 20 }, (_, n) => `agent-${n}`);
    const events = agents.map((agentId) => anEvent({ agentId, isError: true }));
    const triggers = planBatch(book, aBatch({ events })).flatMap((plan) => {
      expect(plan.request.cooldowns).toEqual([
        { ruleId: 'r', dryRun: !isInRollout('r', rollout, plan.request.agentId) },
      ]);
      return fold(plan, store.advance(plan.request)).candidates.map(({ trigger }) => trigger);
    });
    expect(triggers.map(({ agentId, dryRun }) => [agentId, dryRun])).toEqual(
      agents.map((agentId) => [agentId, !isInRollout('r', rollout, agentId)]),
    );
    expect(new Set(triggers.map(({ dryRun }) => dryRun)).size).toBe(2);
  });
});
