import type { Topic } from '@agentlens/contracts';
import type { PublishAck } from '@agentlens/messaging';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RunChanges } from './run-changes.ts';

const ack: PublishAck = { sequence: 1, duplicate: false };

describe('published changes of runs', () => {
  it('are sent or counted as dropped, whenever the broker becomes unavailable', async () => {
    const tenants = fc.array(fc.integer({ min: 1, max: 1_100 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(tenants, fc.nat({ max: 8 }), async (sizes, messages) => {
        let published = 0;
        let left = messages;
        const bus = {
          publish: async <T>(_: Topic<T>, message: T) => {
            if (left-- === 0) throw new Error('away');
            published += (message as { runIds: readonly string[] }).runIds.length;
            return ack;
          },
        };
        let dropped = 0;
        const changes = new RunChanges(
          bus,
          () => 0,
          (_, runs) => (dropped += runs),
        );
        for (const [tenant, runs] of sizes.entries()) {
          changes.add(Array.from({ length: runs }, (_, run) => [`tenant-${tenant}`, `run-${run}`] as const));
        }
        await changes.flush();
        expect(published + dropped).toBe(sizes.reduce((sum, runs) => sum + runs, 0));
      }),
    );
  });
});
