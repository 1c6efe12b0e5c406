import { aTrigger } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { ACK, type Received } from '../event-bus.ts';
import { each } from './each.ts';

function received(value: string, attempt = 1): Received<string> {
  const { id } = aTrigger();
  return {
    value,
    attempt,
    messageId: id,
    raw: new Uint8Array(),
    subject: 's',
    sequence: 1,
    publishedAtMs: 0,
    headers: {},
  };
}

describe('each', () => {
  it('returns outcomes in the order of the messages', async () => {
    let letFirstEnd: () => void = () => undefined;
    const first = new Promise<void>((resolve) => {
      letFirstEnd = resolve;
    });
    const handler = each<string>(async ({ value }) => {
      if (value === 'a') await first;
      else letFirstEnd();
      return { kind: 'poison', reason: value };
    }, 2);
    const outcomes = await handler([received('a'), received('b')]);
    expect(outcomes).toEqual([
      { kind: 'poison', reason: 'a' },
      { kind: 'poison', reason: 'b' },
    ]);
  });

  it('handles one message at a time by default', async () => {
    let running = 0;
    const handler = each<string>(async () => {
      running += 1;
      expect(running).toBe(1);
      await Promise.resolve();
      running -= 1;
      return ACK;
    });
    expect(await handler([received('a'), received('b'), received('c')])).toEqual([ACK, ACK, ACK]);
  });

  it('retries only the message that threw, with increasing delay', async () => {
    const handler = each<string>(async ({ value }) => {
      if (value === 'bad') throw new Error('away');
      return ACK;
    });
    expect(await handler([received('good'), received('bad', 3)])).toEqual([
      ACK,
      { kind: 'retry', afterMs: 1_000, reason: 'away' },
    ]);
  });
});
