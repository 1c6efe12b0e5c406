import { deadLetters } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import type { EventBus, Received, WatchOptions } from '../event-bus.ts';
import { listDeadLetters } from './dead-letters.ts';
import { readRange } from './read-range.ts';

/** A broker that hands over these sequences, then says that there is no more, or falls silent. */
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

describe('reading a range of a stream', () => {
  it('takes what lies after one place up to another, and no more', async () => {
    const { bus, open } = brokerWith([1, 2, 3, 4, 5], { silent: true });
    expect(await read(bus, { after: 1, upTo: 4 })).toEqual([2, 3, 4]);
    expect(open()).toBe(0);
  });

  it('ends where the stream does', async () => {
    const { bus, open } = brokerWith([1, 2]);
    expect(await read(bus, { after: 0, upTo: 9 })).toEqual([1, 2]);
    expect(await read(bus, { after: 0 })).toEqual([1, 2]);
    expect(open()).toBe(0);
  });

  it('gives a silent broker up and leaves nothing open', async () => {
    const { bus, open } = brokerWith([1], { silent: true });
    await expect(read(bus, { after: 0, withinMs: 1 })).rejects.toThrow('within 1 ms');
    expect(open()).toBe(0);
  });
});

describe('dead letters', () => {
  it('are given up too while the broker is silent', async () => {
    const { bus } = brokerWith([], { silent: true });
    const access = { ...bus, resend: async () => undefined, remove: async () => undefined };
    await expect(listDeadLetters(access, undefined, 1)).rejects.toThrow('did not hand over');
  });
});
