import { describe, expect, it } from '@jest/globals';
import { approvalStep } from './approval-step.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const at = (seconds: number) => new Date(NOW + seconds * 1_000).toISOString();
const standing = (
  status: 'pending' | 'acknowledged' | 'approved' | 'denied' | 'expired' | 'cancelled',
  fields = {},
) => ({
  status,
  expires_at: at(60),
  used_at: null,
  ...fields,
});

describe('the step of a call that needs an approval', () => {
  it('opens where nobody was asked', () => expect(approvalStep(undefined, true, NOW)).toBe('open'));

  it.each(['pending', 'acknowledged', 'denied', 'expired', 'cancelled'] as const)('answers what is %s', (status) =>
    expect(approvalStep(standing(status), true, NOW)).toBe('answer'),
  );

  it('uses what is approved', () => expect(approvalStep(standing('approved'), true, NOW)).toBe('use'));

  it.each(['pending', 'acknowledged', 'approved'] as const)(
    'ends what is %s at the moment its time is up',
    (status) => {
      expect(approvalStep(standing(status, { expires_at: at(0.001) }), true, NOW)).not.toBe('lapse');
      expect(approvalStep(standing(status, { expires_at: at(0) }), true, NOW)).toBe('lapse');
    },
  );

  it.each(['denied', 'cancelled', 'expired'] as const)(
    'leaves what is %s as it is, whenever it is asked again',
    (status) => expect(approvalStep(standing(status, { expires_at: at(-1e6) }), false, NOW)).toBe('answer'),
  );

  it.each([
    [true, -1e6, 'answer'],
    [false, -30, 'answer'],
    [false, -30.001, 'open'],
  ] as const)('call id: %s, used %d s ago: %s', (hasCallId, used, step) =>
    expect(approvalStep(standing('approved', { used_at: at(used), expires_at: at(-1) }), hasCallId, NOW)).toBe(step),
  );
});
