import type { Trigger } from '@agentlens/contracts';
import { aTrigger } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Cooldown, cooldownAfter, cooldownKey, isNeighbour, mayHaveNeighbour } from './cooldown.ts';
import { type Cooling, coolBatch, triggerKey } from './cooling.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');

/** The tables, as far as cooling is concerned. */
class History {
  readonly cooldowns = new Map<string, Cooldown>();
  readonly rows = new Map<string, { readonly trigger: Trigger; readonly fate: Cooling }>();

  record(batch: readonly Trigger[]): Cooling[] {
    for (const trigger of batch) {
      const key = cooldownKey(trigger);
      const { id: triggerId, triggeredAt } = trigger;
      const blank = { triggerId, lastTriggeredAt: triggeredAt, coolingUntil: triggeredAt, count: 0 };
      if (!this.cooldowns.has(key)) this.cooldowns.set(key, blank);
    }
    const known = new Set(this.rows.keys());
    const beside = batch.filter((trigger) => this.effectiveOf(trigger).some((at) => isNeighbour(trigger, at)));
    const fates = coolBatch(batch, this.cooldowns, { known, besideEffective: new Set(beside.map(triggerKey)) });
    for (const [n, trigger] of batch.entries()) {
      const fate = fates[n];
      if (fate === undefined || fate === 'known') continue;
      this.rows.set(triggerKey(trigger), { trigger, fate });
      const cooldown = this.cooldowns.get(cooldownKey(trigger));
      if (fate === 'effective' && cooldown !== undefined) {
        this.cooldowns.set(cooldownKey(trigger), cooldownAfter(cooldown, trigger));
      }
    }
    return fates;
  }

  effectiveOf(trigger: Trigger): string[] {
    return [...this.rows.values()]
      .filter(({ fate, trigger: { id } }) => fate === 'effective' && id !== trigger.id)
      .filter(({ trigger: other }) => cooldownKey(other) === cooldownKey(trigger))
      .map(({ trigger: { triggeredAt } }) => triggeredAt);
  }
}

const arrivals = fc
  .array(
    fc.record({
      minute: fc.integer({ min: 0, max: 120 }),
      agent: fc.constantFrom('a', 'b'),
      cooldownMinutes: fc.constantFrom(0, 5, 15, 15, 15),
      dryRun: fc.boolean(),
    }),
    { maxLength: 40 },
  )
  .map((drafts) =>
    drafts.map(({ minute, agent, cooldownMinutes, dryRun }, n) =>
      aTrigger({
        id: `trigger-${n}`,
        agentId: agent,
        cooldownMinutes,
        dryRun,
        triggeredAt: new Date(START + minute * 60_000).toISOString(),
      }),
    ),
  );

describe('cooling a batch', () => {
  it('comes to the same as cooling its triggers one after the other, however the batches are cut', () => {
    fc.assert(
      fc.property(arrivals, fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }), (triggers, sizes) => {
        const alone = new History();
        const one = triggers.flatMap((trigger) => alone.record([trigger]));
        const together = new History();
        const many: Cooling[] = [];
        for (let from = 0, n = 0; from < triggers.length; n++) {
          const size = sizes[n % sizes.length] ?? 1;
          many.push(...together.record(triggers.slice(from, from + size)));
          from += size;
        }
        expect(many).toEqual(one);
        expect(together.cooldowns).toEqual(alone.cooldowns);
      }),
    );
  });

  it('needs the history only where it says so', () => {
    fc.assert(
      fc.property(arrivals, (triggers) => {
        const history = new History();
        for (const trigger of triggers) {
          const cooldown = history.cooldowns.get(cooldownKey(trigger));
          const beside = history.effectiveOf(trigger).some((at) => isNeighbour(trigger, at));
          if (beside) expect(cooldown !== undefined && mayHaveNeighbour(cooldown, trigger)).toBe(true);
          history.record([trigger]);
        }
      }),
    );
  });
});
