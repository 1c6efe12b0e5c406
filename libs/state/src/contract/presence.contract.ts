import { describe, expect, it } from '@jest/globals';
import type { Presence } from '../state-stores.ts';
import { fresh } from './requests.ts';

const LONG_MS = 60_000;

/** Contract of every Presence. `after` runs a check once that much time has passed for the store. */
export function presenceContract(
  name: string,
  presence: () => Presence,
  after: (ms: number, check: () => Promise<void>) => Promise<void>,
): void {
  describe(`${name} as presence`, () => {
    const idsOf = async (tenantId: string, agentId?: string) =>
      (await presence().list(tenantId, agentId)).map((one) => `${one.agentId}/${one.instanceId}`).toSorted();

    it('is empty at first', async () => {
      expect(await presence().list(fresh('tenant'))).toEqual([]);
    });

    it('lists an instance once, however often it is touched', async () => {
      const tenantId = fresh('tenant');
      await presence().touch(tenantId, 'agent', 'one', LONG_MS);
      await presence().touch(tenantId, 'agent', 'one', LONG_MS);
      await presence().touch(tenantId, 'agent', 'two', LONG_MS);
      expect(await idsOf(tenantId, 'agent')).toEqual(['agent/one', 'agent/two']);
    });

    it('separates agents and tenants', async () => {
      const tenantId = fresh('tenant');
      await presence().touch(tenantId, 'a', 'one', LONG_MS);
      await presence().touch(tenantId, 'b', 'one', LONG_MS);
      await presence().touch(fresh('tenant'), 'a', 'two', LONG_MS);
      expect(await idsOf(tenantId, 'a')).toEqual(['a/one']);
      expect(await idsOf(tenantId)).toEqual(['a/one', 'b/one']);
    });

    it('accepts names with any characters', async () => {
      const tenantId = fresh('tenant');
      const [agentId, instanceId] = ['a"{}:\u{1f600}', '["x","y"]'];
      await presence().touch(tenantId, agentId, instanceId, LONG_MS);
      expect(await presence().list(tenantId, agentId)).toEqual([{ agentId, instanceId }]);
    });

    it('removes an instance that was not touched in time, and no other', async () => {
      const tenantId = fresh('tenant');
      await presence().touch(tenantId, 'agent', 'short', 500);
      await presence().touch(tenantId, 'agent', 'long', LONG_MS);
      await after(500, async () => expect(await idsOf(tenantId, 'agent')).toEqual(['agent/long']));
    });
  });
}
