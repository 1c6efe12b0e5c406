import { BusUnavailable, UnreadableMessage } from '@agentlens/messaging';
import { StateUnavailable } from '@agentlens/state';
import { describe, expect, it } from '@jest/globals';
import { Failures } from '../agent-events.consumer.ts';

describe('Failures', () => {
  it.each([new StateUnavailable('advance', 'away'), new BusUnavailable('full', 700)])(
    'never gives up on a message because of %p',
    (error) => {
      const failures = new Failures();
      for (let attempt = 1; attempt < 100; attempt++) {
        expect(failures.outcome('m', attempt, error)).toMatchObject({ kind: 'retry' });
      }
    },
  );

  it('waits as long as the broker asks', () => {
    expect(new Failures().outcome('m', 1, new BusUnavailable('full', 700))).toMatchObject({ afterMs: 700 });
  });

  it('gives up on a message that fails repeatedly when evaluated alone', () => {
    const failures = new Failures();
    const bug = new TypeError('undefined is not a function');
    const kinds = [1, 2, 3, 4, 5].map((attempt) => failures.outcome('m', attempt, bug).kind);
    expect(kinds).toEqual(['retry', 'retry', 'retry', 'retry', 'poison']);
  });

  it('gives up on an unreadable message at once', () => {
    const outcome = new Failures().outcome('m', 1, new UnreadableMessage('not JSON'));
    expect(outcome).toEqual({ kind: 'poison', reason: 'not JSON' });
  });

  it('resets the count after a successful evaluation', () => {
    const failures = new Failures();
    for (let i = 0; i < 4; i++) failures.outcome('m', 1, new Error('bug'));
    failures.forget('m');
    expect(failures.outcome('m', 1, new Error('bug')).kind).toBe('retry');
  });
});
