import { describe, expect, it } from '@jest/globals';
import { JetStreamApiError } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import { BusUnavailable, SILENT } from '../event-bus.ts';
import { whenReady } from './when-ready.ts';

const refusal = (err_code: number) => new JetStreamApiError({ code: 503, err_code, description: 'server text' });

describe('whenReady', () => {
  it.each([
    ['is silent', new TimeoutError()],
    ['has no leader yet', refusal(10_008)],
    ['does not know its peers yet', refusal(10_005)],
  ])('retries while JetStream %s', async (_, error) => {
    let tries = 0;
    await whenReady(
      async () => {
        tries += 1;
        if (tries < 3) throw error;
      },
      60_000,
      SILENT,
    );
    expect(tries).toBe(3);
  });

  it('gives up after the timeout and says what to check', async () => {
    const attempt = whenReady(() => Promise.reject(refusal(10_008)), 0, SILENT);
    await expect(attempt).rejects.toBeInstanceOf(BusUnavailable);
    await expect(attempt).rejects.toThrow('server text');
    await expect(attempt).rejects.toThrow('check that a majority of servers is running');
  });

  it.each([refusal(10_058), new Error('anything else')])('does not retry %s', async (error) => {
    let tries = 0;
    const attempt = whenReady(
      () => {
        tries += 1;
        return Promise.reject(error);
      },
      60_000,
      SILENT,
    );
    await expect(attempt).rejects.toBe(error);
    expect(tries).toBe(1);
  });
});
