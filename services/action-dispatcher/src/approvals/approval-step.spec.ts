import { describe, expect, it } from '@jest/globals';
import { END_OF_RUN } from '../alerts/alerts.repository.ts';
import { approvalStep } from './approvals.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const CALL = { callId: 'call-1' };
const at = (seconds: number) => new Date(NOW + seconds * 1_000).toISOString();
const anApproval = (
  status: 'pending' | 'acknowledged' | 'approved' | 'denied' | 'expired' | 'cancelled',
  fields = {},
) => ({
  status,
  decided_by: null,
  expires_at: at(60),
  used_at: null,
  used_by: null,
  retried_at: null,
  spent_at: null,
  ...fields,
});

describe('the step of a call that needs an approval', () => {
  it('opens an approval if there is none', () => expect(approvalStep(undefined, CALL, NOW)).toBe('open'));

  it.each(['pending', 'acknowledged', 'denied', 'expired', 'cancelled'] as const)(
    'returns the state of an approval that is %s',
    (status) => expect(approvalStep(anApproval(status), CALL, NOW)).toBe('answer'),
  );

  it('opens a new approval if the last one ended with its run, which goes on', () => {
    expect(approvalStep(anApproval('cancelled', { decided_by: END_OF_RUN }), CALL, NOW)).toBe('open');
    expect(approvalStep(anApproval('cancelled', { decided_by: 'Ada' }), CALL, NOW)).toBe('answer');
  });

  it('uses an approved approval', () => expect(approvalStep(anApproval('approved'), CALL, NOW)).toBe('use'));

  it.each(['pending', 'acknowledged', 'approved'] as const)(
    'expires an approval that is %s at its deadline',
    (status) => {
      expect(approvalStep(anApproval(status, { expires_at: at(0.001) }), CALL, NOW)).not.toBe('lapse');
      expect(approvalStep(anApproval(status, { expires_at: at(0) }), CALL, NOW)).toBe('lapse');
    },
  );

  it.each(['denied', 'cancelled', 'expired'] as const)(
    'leaves an approval that is %s unchanged, however late the call asks',
    (status) => expect(approvalStep(anApproval(status, { expires_at: at(-1e6) }), {}, NOW)).toBe('answer'),
  );

  it.each([
    ['its call id, much later', { callId: 'c' }, -1e6, {}, 'answer'],
    ['its call id, after the call has ended', { callId: 'c' }, -1, { spent_at: at(0) }, 'open'],
    ['its request id, much later', { requestId: 'k' }, -1e6, { used_by: 'k' }, 'answer'],
    ['its request id, after the call has ended', { requestId: 'k' }, -1, { used_by: 'k', spent_at: at(0) }, 'open'],
    ['another key', { requestId: 'other' }, -1, { used_by: 'k' }, 'open'],
    ['a request id, if it was used without one', { requestId: 'k' }, -1, {}, 'open'],
    ['no id, if it was used with a request id', {}, -1, { used_by: 'k' }, 'open'],
    ['no id, soon', {}, -10, {}, 'retry'],
    ['no id, later', {}, -10.001, {}, 'open'],
    ['no id, a second time', {}, -1, { retried_at: at(-0.5) }, 'open'],
    ['no id, after the call has ended', {}, -1, { spent_at: at(0) }, 'open'],
  ] as const)('handles a used approval that is requested with %s', (_what, asked, used, fields, step) =>
    expect(approvalStep(anApproval('approved', { used_at: at(used), expires_at: at(-1), ...fields }), asked, NOW)).toBe(
      step,
    ),
  );
});
