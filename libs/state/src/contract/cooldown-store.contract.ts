import type { CooldownClaim } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import type { StateStores } from '../state-stores.ts';
import { anAdvance, fresh } from './requests.ts';

function aClaim(overrides: Partial<CooldownClaim> = {}): CooldownClaim {
  return {
    tenantId: 'acme',
    agentId: 'agent',
    ruleId: fresh('rule'),
    dryRun: false,
    triggerId: 'trigger-1',
    atMs: NOON,
    cooldownMs: 600_000,
    ...overrides,
  };
}

const NOON = Date.parse('2026-03-01T12:00:00.000Z');

/** Contract of every CooldownStore. */
export function cooldownStoreContract(name: string, stores: () => StateStores): void {
  describe(`cooldown store contract: ${name}`, () => {
    it('grants exactly one of eight concurrent claims', async () => {
      const claim = aClaim();
      const granted = await Promise.all(
        Array.from({ length: 8 }, (_, index) => stores().cooldowns.claim({ ...claim, triggerId: `trigger-${index}` })),
      );
      expect(granted.filter(Boolean)).toHaveLength(1);
    });

    it('lets the same trigger claim again', async () => {
      const claim = aClaim();
      expect(await stores().cooldowns.claim(claim)).toBe(true);
      expect(await stores().cooldowns.claim(claim)).toBe(true);
      expect(await stores().cooldowns.claim({ ...claim, triggerId: 'trigger-2' })).toBe(false);
      expect(await stores().cooldowns.claim(claim)).toBe(true);
    });

    it('is measured between trigger times, not between claims', async () => {
      const claim = aClaim({ cooldownMs: 4000 });
      await stores().cooldowns.claim(claim);
      const second = { ...claim, triggerId: 'trigger-2' };
      expect(await stores().cooldowns.claim({ ...second, atMs: NOON + 3999 })).toBe(false);
      expect(await stores().cooldowns.claim({ ...second, atMs: NOON + 4000 })).toBe(true);
      expect(await stores().cooldowns.claim({ ...claim, triggerId: 'trigger-3', atMs: NOON + 7999 })).toBe(false);
    });

    it('grants a late trigger that fired a cooldown earlier, and keeps the newer holder', async () => {
      const claim = aClaim({ cooldownMs: 4000 });
      await stores().cooldowns.claim(claim);
      expect(await stores().cooldowns.claim({ ...claim, triggerId: 'late', atMs: NOON - 3999 })).toBe(false);
      expect(await stores().cooldowns.claim({ ...claim, triggerId: 'late', atMs: NOON - 4000 })).toBe(true);
      expect(await stores().cooldowns.claim({ ...claim, triggerId: 'other', atMs: NOON + 1 })).toBe(false);
    });

    it('always grants a rule without a cooldown', async () => {
      const claim = aClaim({ cooldownMs: 0 });
      expect(await stores().cooldowns.claim(claim)).toBe(true);
      expect(await stores().cooldowns.claim({ ...claim, triggerId: 'trigger-2' })).toBe(true);
    });

    it('is separate for each rule, agent, tenant and dry run', async () => {
      const claim = aClaim();
      await stores().cooldowns.claim(claim);
      const others = [{ ruleId: fresh('rule') }, { agentId: 'other' }, { tenantId: 'globex' }, { dryRun: true }];
      for (const other of others) {
        expect(await stores().cooldowns.claim({ ...claim, ...other, triggerId: 'trigger-2' })).toBe(true);
      }
    });

    describe('after a rearm', () => {
      const rearmed = async (atMs: number) => {
        const claim = aClaim({ cooldownMs: 4000 });
        await stores().cooldowns.claim(claim);
        const { tenantId, agentId, ruleId } = claim;
        await stores().cooldowns.rearm({ tenantId, agentId, ruleIds: [ruleId, fresh('rule')], atMs });
        const at = (triggerId: string, when: number) => stores().cooldowns.claim({ ...claim, triggerId, atMs: when });
        return {
          claim,
          at,
          rearm: (when: number) => stores().cooldowns.rearm({ tenantId, agentId, ruleIds: [ruleId], atMs: when }),
        };
      };

      it('grants triggers from then on, then cools down again', async () => {
        const { at } = await rearmed(NOON + 1000);
        expect(await at('trigger-2', NOON + 1000)).toBe(true);
        expect(await at('trigger-3', NOON + 4999)).toBe(false);
        expect(await at('trigger-3', NOON + 5000)).toBe(true);
      });

      it('refuses triggers that fired before it, except the holder', async () => {
        const { at } = await rearmed(NOON + 1000);
        expect([await at('late', NOON + 999), await at('late', NOON - 9000)]).toEqual([false, false]);
        expect(await at('trigger-1', NOON)).toBe(true);
        expect(await at('trigger-2', NOON + 1001)).toBe(true);
        expect(await at('late', NOON + 999)).toBe(false);
      });

      it('ignores an older rearm', async () => {
        const { at, rearm } = await rearmed(NOON + 2000);
        await rearm(NOON + 1000);
        expect(await at('late', NOON + 1500)).toBe(false);
        expect(await at('trigger-2', NOON + 2000)).toBe(true);
      });

      it('leaves other rules, agents, tenants and dry runs unchanged', async () => {
        const { claim } = await rearmed(NOON + 1000);
        const others = [
          { ruleId: fresh('rule') },
          { agentId: fresh('agent') },
          { tenantId: 'globex' },
          { dryRun: true },
        ];
        for (const other of others) {
          await stores().cooldowns.claim({ ...claim, ...other });
          const { tenantId, agentId, ruleId } = claim;
          await stores().cooldowns.rearm({ tenantId, agentId, ruleIds: [ruleId], atMs: NOON + 1000 });
          const later = { ...claim, ...other, triggerId: 'trigger-2', atMs: NOON + 1500 };
          expect(await stores().cooldowns.claim(later)).toBe(false);
        }
      });

      it('is visible to the windows', async () => {
        const { claim } = await rearmed(NOON + 1000);
        const { tenantId, agentId, ruleId } = claim;
        const cooldowns = [{ ruleId, dryRun: false }];
        const { cooling } = await stores().windows.advance(anAdvance({ tenantId, agentId, cooldowns }));
        expect(cooling).toEqual([{ triggerId: 'trigger-1', atMs: NOON, rearmedAtMs: NOON + 1000 }]);
      });
    });

    it('shows its holder to the windows', async () => {
      const claim = aClaim();
      const { tenantId, agentId, ruleId } = claim;
      await stores().cooldowns.claim(claim);
      const cooldowns = [true, false].map((dryRun) => ({ ruleId, dryRun }));
      const { cooling } = await stores().windows.advance(anAdvance({ tenantId, agentId, cooldowns }));
      expect(cooling).toEqual([null, { triggerId: 'trigger-1', atMs: NOON }]);
    });
  });
}
