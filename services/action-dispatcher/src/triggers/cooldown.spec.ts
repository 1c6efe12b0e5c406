import type { Trigger } from '@agentlens/contracts';
import { aTrigger } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type Cooldown,
  type Cooling,
  coolBatch,
  cooldownAfter,
  cooldownKey,
  isNeighbour,
  mayHaveNeighbour,
  triggerKey,
} from './cooldown.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');

const later = (a: string, b: string) => (a > b ? a : b);

/** An in-memory model of the tables, as far as cooldowns need them. */
class History {
  readonly cooldowns = new Map<string, Cooldown>();
  readonly rows = new Map<string, { readonly trigger: Trigger; readonly fate: Cooling }>();

  record(batch: readonly Trigger[]): Cooling[] {
    for (const trigger of batch) {
      const key = cooldownKey(trigger);
      const { id: triggerId, triggeredAt } = trigger;
      const blank = { triggerId, lastTriggeredAt: triggeredAt, coolingUntil: triggeredAt, count: 0, rearmedAt: null };
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

  rearm(agentId: string, at: string): void {
    for (const [key, cooldown] of this.cooldowns) {
      const [, , agent, dryRun] = JSON.parse(key) as [string, string, string, boolean];
      if (agent !== agentId || dryRun) continue;
      const rearmedAt = later(at, cooldown.rearmedAt ?? at);
      const coolingUntil = cooldown.coolingUntil < at ? cooldown.coolingUntil : at;
      this.cooldowns.set(key, { ...cooldown, rearmedAt, coolingUntil });
    }
  }

  effectiveOf(trigger: Trigger): string[] {
    const since = this.cooldowns.get(cooldownKey(trigger))?.rearmedAt ?? '';
    return [...this.rows.values()]
      .filter(({ fate, trigger: { id } }) => fate === 'effective' && id !== trigger.id)
      .filter(({ trigger: other }) => cooldownKey(other) === cooldownKey(trigger))
      .map(({ trigger: { triggeredAt } }) => triggeredAt)
      .filter((triggeredAt) => triggeredAt >= since);
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

const cuts = fc.record({
  size: fc.integer({ min: 1, max: 12 }),
  rearmedAt: fc.option(fc.integer({ min: 0, max: 120 }), { nil: undefined }),
});

const minute = (n: number) => new Date(START + n * 60_000).toISOString();

describe('a rule that was rearmed for an agent', () => {
  const fired = (id: string, at: number) => aTrigger({ id, agentId: 'a', triggeredAt: minute(at) });

  it('triggers at once, and then cools down', () => {
    const history = new History();
    history.record([fired('first', 0)]);
    history.rearm('a', minute(5));
    expect(history.record([fired('again', 5)])).toEqual(['effective']);
    expect(history.record([fired('soon', 19), fired('later', 20)])).toEqual(['cooldown', 'effective']);
  });

  it('ignores triggers from before the rearming, however late or often they arrive', () => {
    const history = new History();
    history.record([fired('first', 0)]);
    history.rearm('a', minute(20));
    expect(history.record([fired('first', 0), fired('late', 19), fired('earlier', -30)])).toEqual([
      'known',
      'cooldown',
      'cooldown',
    ]);
    expect(history.record([fired('again', 21)])).toEqual(['effective']);
    expect(history.record([fired('late', 19), fired('later still', 18)])).toEqual(['known', 'cooldown']);
  });

  it('is rearmed only for that agent and for real triggers', () => {
    const history = new History();
    const others = [aTrigger({ id: 'b1', agentId: 'b', triggeredAt: minute(0) })];
    const dry = (id: string, at: number) => aTrigger({ id, agentId: 'a', dryRun: true, triggeredAt: minute(at) });
    history.record([...others, dry('d1', 0)]);
    history.rearm('a', minute(5));
    expect(history.record([aTrigger({ id: 'b2', agentId: 'b', triggeredAt: minute(6) }), dry('d2', 6)])).toEqual([
      'cooldown',
      'cooldown',
    ]);
  });
});

describe('cooling a batch', () => {
  it('equals recording its triggers one by one, for any split into batches', () => {
    fc.assert(
      fc.property(arrivals, fc.array(cuts, { minLength: 1 }), (triggers, sizes) => {
        const alone = new History();
        const batched = new History();
        const one: Cooling[] = [];
        const many: Cooling[] = [];
        for (let from = 0, n = 0; from < triggers.length; n++) {
          const { size, rearmedAt } = sizes[n % sizes.length] ?? { size: 1 };
          const batch = triggers.slice(from, from + size);
          one.push(...batch.flatMap((trigger) => alone.record([trigger])));
          many.push(...batched.record(batch));
          from += size;
          if (rearmedAt === undefined) continue;
          for (const history of [alone, batched]) history.rearm('a', minute(rearmedAt));
        }
        expect(many).toEqual(one);
        expect(batched.cooldowns).toEqual(alone.cooldowns);
      }),
    );
  });

  it('reads the history only if `mayHaveNeighbour` requires it', () => {
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
