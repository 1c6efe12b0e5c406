import { describe, expect, it } from '@jest/globals';
import { EventLog } from './event-log.ts';
import { Subscription } from './subscription.ts';

describe('a reader that leaves', () => {
  it.each<[string, (reader: Subscription, abort: AbortController) => unknown]>([
    ['by return', (reader) => reader.return()],
    ['by its signal', (_reader, abort) => abort.abort()],
    ['by disposal', (reader) => reader[Symbol.asyncDispose]()],
  ])('is released at once, %s, not with the next event', async (_, leave) => {
    const log = new EventLog(10);
    const abort = new AbortController();
    const reader = new Subscription(log, { signal: abort.signal });
    const next = reader.next();
    expect(log.waiting).toBe(1);
    await leave(reader, abort);
    expect(await next).toEqual({ done: true, value: undefined });
    expect(log.waiting).toBe(0);
  });
});
