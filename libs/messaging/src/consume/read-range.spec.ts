import { deadLetters } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import type { EventBus, Received, WatchOptions } from '../event-bus.ts';
import { listDeadLetters } from './dead-letters.ts';
import { readRange } from './read-range.ts';

/** A broker that delivers these sequences and then either reports that it caught up or stops responding. */
function brokerWith(sequences: readonly number[], { silent = false } = {}) {
  let open = 0;
  const watch = async (_topic: unknown, { from, onCaughtUp }: WatchOptions, handler: (message: never) => void) => {
    open += 1;
    for (const sequence of sequences) if (sequence > Number(from)) handler({ sequence, value: {} } as never);
    if (!silent) onCaughtUp?.();
    const close = async () => {
      open -= 1;
    };
    return { close };
  };
  return { bus: { watch } as unknown as Pick<EventBus, 'watch'>, open: () => open };
}

const read = async (bus: Pick<EventBus, 'watch'>, range: { after: number; upTo?: number; withinMs?: number }) => {
  const sequences: number[] = [];
  await readRange(bus, deadLetters, range, ({ sequence }: Received<unknown>) => sequences.push(sequence));
  return sequences;
};

describe('readRange', () => {
  it('reads the messages between two sequences', async () => {
    const { bus, open } = brokerWith([1, 2, 3, 4, 5], { silent: true });
    expect(await read(bus, { after: 1, upTo: 4 })).toEqual([2, 3, 4]);
    expect(open()).toBe(0);
  });

  it('stops at the end of the stream', async () => {
    const { bus, open } = brokerWith([1, 2]);
    expect(await read(bus, { after: 0, upTo: 9 })).toEqual([1, 2]);
    expect(await read(bus, { after: 0 })).toEqual([1, 2]);
    expect(open()).toBe(0);
  });

  it('times out and closes the subscription if the broker stops responding', async () => {
    const { bus, open } = brokerWith([1], { silent: true });
    await expect(read(bus, { after: 0, withinMs: 1 })).rejects.toThrow('within 1 ms');
    expect(open()).toBe(0);
  });
});

describe('dead letters', () => {
  it('time out if the broker stops responding', async () => {
    const { bus } = brokerWith([], { silent: true });
    const access = { ...bus, resend: async () => undefined, remove: async () => undefined };
    await expect(listDeadLetters(access, undefined, 1)).rejects.toThrow('did not deliver');
  });
});
