import { describe, expect, it } from '@jest/globals';
import { aDelivery, DELIVERED } from './delivery.testing.ts';
import { ResultRecorder } from './result-recorder.ts';
import type { SettledDelivery } from './settlements.repository.ts';

const LEASE_MS = 30_000;

/** A recorder whose database is unavailable for `awayMs`, with a clock that advances while the recorder pauses. */
function recorderOver(awayMs: number) {
  let pausedMs = 0;
  const settled: SettledDelivery[] = [];
  const recorder = new ResultRecorder({
    deliveries: { defer: () => Promise.reject(new Error('nothing is deferred here')) },
    settlements: {
      settle: async (some) => {
        if (pausedMs < awayMs) throw new Error('the database is away');
        settled.push(...some);
        return some;
      },
    },
    now: () => pausedMs,
    leaseMs: LEASE_MS,
    pause: async (ms) => {
      pausedMs += ms;
    },
    onSettled: () => undefined,
  });
  return { recorder, settled };
}

describe('ResultRecorder', () => {
  it('records an attempt made before an outage that ends within the lease', async () => {
    const { recorder, settled } = recorderOver(27_000);
    await recorder.record(aDelivery('d-1'), DELIVERED);
    expect(settled.map(({ delivery }) => delivery.deliveryId)).toEqual(['d-1']);
  });

  it('gives up when the lease has expired, because another worker may have started the delivery', async () => {
    const { recorder, settled } = recorderOver(10 * LEASE_MS);
    await expect(recorder.record(aDelivery('d-1'), DELIVERED)).rejects.toThrow('the database is away');
    expect(settled).toEqual([]);
  });
});
