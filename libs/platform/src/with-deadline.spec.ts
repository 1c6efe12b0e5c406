import { describe, expect, it, jest } from '@jest/globals';
import { withDeadline } from './with-deadline.ts';

describe('a deadline', () => {
  it('lets an answer and a failure through, and leaves no timer', async () => {
    jest.useFakeTimers();
    try {
      expect(await withDeadline(Promise.resolve(7), 1_000)).toBe(7);
      await expect(withDeadline(Promise.reject(new Error('away')), 1_000)).rejects.toThrow('away');
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('waits no longer, whatever becomes of the work', async () => {
    jest.useFakeTimers();
    try {
      const work = Promise.withResolvers<void>();
      const answer = expect(withDeadline(work.promise, 1_000)).rejects.toThrow('no answer within 1000 ms');
      await jest.advanceTimersByTimeAsync(1_000);
      await answer;
      work.reject(new Error('too late for anybody to hear'));
    } finally {
      jest.useRealTimers();
    }
  });
});
