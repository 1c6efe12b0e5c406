import { describe, expect, it, jest } from '@jest/globals';
import { withDeadline } from './with-deadline.ts';

describe('a deadline', () => {
  it('passes on a result or an error, and leaves no timer', async () => {
    jest.useFakeTimers();
    try {
      expect(await withDeadline(Promise.resolve(7), 1_000)).toBe(7);
      await expect(withDeadline(Promise.reject(new Error('away')), 1_000)).rejects.toThrow('away');
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('rejects at the deadline, regardless of how the work ends', async () => {
    jest.useFakeTimers();
    try {
      const work = Promise.withResolvers<void>();
      const answer = expect(withDeadline(work.promise, 1_000)).rejects.toThrow('no answer within 1000 ms');
      await jest.advanceTimersByTimeAsync(1_000);
      await answer;
      work.reject(new Error('too late'));
    } finally {
      jest.useRealTimers();
    }
  });
});
