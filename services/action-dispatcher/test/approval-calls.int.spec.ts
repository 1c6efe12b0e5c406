import type { ApprovalCall } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import type { Dispatching } from './dispatching.ts';
import { granted, type reviewing } from './reviewing.ts';
import { withReview } from './with-review.ts';

describe('the call of an approval', () => {
  let world: Dispatching;
  let review: ReturnType<typeof reviewing>;
  withReview((its, reviews) => {
    [world, review] = [its, reviews];
  });

  const asked = async (runId: string, call: ApprovalCall) =>
    granted(await review.resolve(review.binding({ runId }), { call }));
  const kept = (alertId: string) =>
    world.db.selectFrom('approval_calls').selectAll().where('alert_id', '=', alertId).execute();

  it('is stored in full, sealed for its approval, once for any number of requests', async () => {
    await world.start();
    const call = { arguments: '{"amount":9007199254740993}' };
    const { id } = await asked('run-kept', call);
    await asked('run-kept', { arguments: '{"other":1}' });
    const [row, ...more] = await kept(id);
    expect(more).toEqual([]);
    expect(row?.sealed).not.toContain('amount');
    expect(JSON.parse(world.secrets.open(row?.sealed ?? '', ['acme', 'approval_calls', id]))).toEqual(call);
    expect(() => world.secrets.open(row?.sealed ?? '', ['acme', 'approval_calls', 'another'])).toThrow();
    expect(granted(await review.decide(id, 'approve')).status).toBe('approved');
  });

  it('cannot be approved if it was truncated, but can be denied', async () => {
    await world.start();
    const { id } = await asked('run-cut', {
      arguments: '{"a":1',
      cut: 'the call is larger than the platform takes in',
    });
    expect(await review.decide(id, 'approve')).toMatchObject({
      ok: false,
      problem: {
        status: 409,
        code: 'CALL_NOT_WHOLE',
        details: [{ path: 'call', message: expect.stringContaining('larger') }],
      },
    });
    expect(granted(await review.decide(id, 'deny')).status).toBe('denied');
  });
});
