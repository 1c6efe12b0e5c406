import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { SILENT } from '../event-bus.ts';
import { NatsLink } from './nats-link.ts';

const never: AsyncIterable<never> = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) };

describe('link to a cluster whose server stores nothing', () => {
  const reconnect = jest.fn(() => Promise.resolve());
  const connection = { status: () => never, getServer: () => 'one', reconnect } as unknown as NatsConnection;

  beforeEach(() => {
    jest.useFakeTimers();
    reconnect.mockClear();
  });
  afterEach(() => void jest.useRealTimers());

  it('moves to another server after two seconds without an answer from a stream', () => {
    const link = new NatsLink(connection, SILENT, 3);
    jest.advanceTimersByTime(1_900);
    link.unanswered();
    expect(reconnect).not.toHaveBeenCalled();
    jest.advanceTimersByTime(100);
    link.unanswered();
    expect(reconnect).toHaveBeenCalledTimes(1);
  });

  it('stays while other requests are answered', () => {
    const link = new NatsLink(connection, SILENT, 3);
    jest.advanceTimersByTime(5_000);
    link.answered();
    jest.advanceTimersByTime(1_000);
    link.unanswered();
    expect(reconnect).not.toHaveBeenCalled();
  });

  it('moves again soon if the other server is silent too, then with increasing pauses', () => {
    const link = new NatsLink(connection, SILENT, 3);
    const movedAfter: number[] = [];
    for (let second = 1; second <= 40; second++) {
      jest.advanceTimersByTime(1_000);
      link.unanswered();
      if (reconnect.mock.calls.length > movedAfter.length) movedAfter.push(second);
    }
    expect(movedAfter).toEqual([2, 5, 11, 23, 35]);
  });

  it('starts over after a stream answered', () => {
    const link = new NatsLink(connection, SILENT, 3);
    for (let second = 1; second <= 12; second++) {
      jest.advanceTimersByTime(1_000);
      link.unanswered();
    }
    expect(reconnect).toHaveBeenCalledTimes(3);
    link.answered();
    jest.advanceTimersByTime(3_000);
    link.unanswered();
    expect(reconnect).toHaveBeenCalledTimes(4);
  });

  it('stays if there is no other server', () => {
    const link = new NatsLink(connection, SILENT, 1);
    jest.advanceTimersByTime(60_000);
    link.unanswered();
    expect(reconnect).not.toHaveBeenCalled();
  });
});
