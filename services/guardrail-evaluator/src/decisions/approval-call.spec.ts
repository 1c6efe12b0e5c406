import type { DecisionRequest } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { callOf } from './approvals.ts';

const call = (fields: Partial<DecisionRequest> = {}): DecisionRequest => ({
  ...{ tenantId: 'acme', agentId: 'bot', runId: 'run', phase: 'tool.before', tool: { name: 'pay', tags: [] } },
  ...{ tags: {}, subjects: [], metrics: {}, deadlineMs: 1_000, receivedAt: '2026-03-01T12:00:00.000Z', ...fields },
});

describe('the call shown to a reviewer', () => {
  it('contains every argument, redacted', () => {
    const args = { note: 'x'.repeat(3_000), amount: 5, iban: 'GB82WEST12345698765432', password: 'hunter2' };
    const shown = callOf(call({ args }));
    expect(shown).not.toHaveProperty('cut');
    expect(JSON.parse(shown.arguments)).toEqual({ ...args, iban: '[iban]', password: '[secret]' });
  });

  it('keeps numbers in the digits they were written in', () => {
    const writtenArgs = '{"amount": 9007199254740993}';
    expect(callOf(call({ args: JSON.parse(writtenArgs), exactArgs: 'a', writtenArgs })).arguments).toBe(
      '{"amount":9007199254740993}',
    );
    expect(callOf(call({ args: JSON.parse(writtenArgs), exactArgs: 'a', writtenArgs: null })).cut).toMatch(/larger/);
  });

  it('contains the result if the result needs approval', () => {
    const asked = call({ phase: 'tool.after', args: { id: 1 }, result: { mail: 'ann@example.com' } });
    expect(callOf(asked)).toEqual({ arguments: '{"id":1}', result: '{"mail":"[email]"}' });
    expect(callOf(call({ args: {}, result: 1 }))).not.toHaveProperty('result');
  });

  it('says which parts are missing', () => {
    const unread = (reason: 'too_large' | 'unreadable') => ({ args: { reason, sha256: 'a' } });
    expect(callOf(call({ args: {}, unread: unread('too_large') })).cut).toMatch(/larger/);
    expect(callOf(call({ args: {}, unread: unread('unreadable') })).cut).toMatch(/cannot be shown/);
    const long = callOf(call({ args: { text: '"'.repeat(200_000) } }));
    expect(long.cut).toMatch(/larger/);
    expect(Buffer.byteLength(JSON.stringify(long))).toBeLessThan(400_000);
  });
});
