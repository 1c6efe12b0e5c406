import { COMMANDS, canonicalJson, sha256Hex } from '@agentlens/contracts';
import { openDatabase } from '@agentlens/database';
import { eventually, recordMeters } from '@agentlens/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { type Dispatching, START } from './dispatching.ts';
import { granted, type reviewing } from './reviewing.ts';
import { withReview } from './with-review.ts';

describe('approvals', () => {
  let world: Dispatching;
  let review: ReturnType<typeof reviewing>;
  let run = 0;
  withReview((its, reviewed) => {
    [world, review] = [its, reviewed];
  });
  beforeEach(async () => {
    run += 1;
    await world.start();
  });

  /** A call in its own run. */
  const aCall = (fields = {}) => review.binding({ runId: `run-${run}`, ...fields });
  const opened = async (binding = aCall()) => granted(await review.resolve(binding));

  it('are opened by the first request, bound to the call, and published on the bus', async () => {
    const changes = await review.changes();
    const call = aCall();
    const alert = await opened(call);
    expect(alert).toMatchObject({
      kind: 'approval',
      status: 'pending',
      title: 'May it pay?',
      agentId: 'agent-1',
      runId: call.runId,
      ruleId: 'rule-1',
      approval: call,
      createdAt: START,
      expiresAt: '2026-03-01T12:15:00.000Z',
      version: 1,
    });
    expect(await review.alert(alert.id)).toMatchObject({ binding: sha256Hex(canonicalJson(call)) });
    await eventually(() => expect(changes.alerts).toEqual([alert]));
    await changes.close();
  });

  it('that are pending are counted with the age of the oldest, until they are decided or expire', async () => {
    await world.stopAll();
    await world.db.deleteFrom('alerts').execute();
    const meters = recordMeters();
    try {
      await world.start({ timings: { observeMs: 15 } });
      const shows = (approvals: number, oldestMs: number) =>
        eventually(() =>
          expect([meters.gauge('agentlens.approvals.waiting'), meters.gauge('agentlens.approvals.oldest_age')]).toEqual(
            [approvals, oldestMs],
          ),
        );
      await shows(0, 0);
      const first = await opened(aCall({ callId: 'a' }));
      world.clock.advance(60_000);
      await opened(aCall({ callId: 'b' }));
      await shows(2, 60_000);
      granted(await review.decide(first.id, 'deny'));
      await shows(1, 0);
      world.clock.advance(3_600_000);
      await shows(0, 0);
    } finally {
      meters.stop();
    }
  });

  it('that were denied also apply to equal calls of the run, unless the tenant wants to be asked again', async () => {
    const denied = await opened(aCall({ callId: 'a' }));
    granted(await review.decide(denied.id, 'deny', { reason: 'not today' }));
    const again = aCall({ callId: 'b' });
    expect(granted(await review.resolve(again))).toMatchObject({
      id: denied.id,
      status: 'denied',
      reason: 'not today',
    });
    for (const toolName of [again.toolName.toUpperCase(), `${again.toolName}\u200b`, `\u202d${again.toolName} `])
      expect(granted(await review.resolve(aCall({ callId: 'f', toolName })))).toMatchObject({ id: denied.id });
    const others = [
      aCall({ callId: 'c', argsHash: 'b'.repeat(64) }),
      aCall({ callId: 'd', toolName: 'other' }),
      aCall({ callId: 'e', runId: 'another-run' }),
    ];
    for (const other of others) expect(granted(await review.resolve(other))).toMatchObject({ status: 'pending' });
    expect(granted(await review.resolve(again, { asksAgain: true }))).toMatchObject({ status: 'pending' });
  });

  it('are opened once for concurrent requests on several replicas', async () => {
    await world.start();
    await world.start();
    const call = aCall();
    const answers = await Promise.all(Array.from({ length: 12 }, () => review.resolve(call)));
    expect(new Set(answers.map((answer) => granted(answer).id)).size).toBe(1);
    const rows = (await review.alertsOf('acme')).filter((row) => row.run_id === call.runId);
    expect(rows).toHaveLength(1);
  });

  it('allow the approved call and its retry, and no other call', async () => {
    const changes = await review.changes();
    const call = aCall();
    const { id } = await opened(call);
    granted(await review.decide(id, 'approve', { reason: 'fine' }));
    const used = granted(await review.resolve(call));
    expect(used).toMatchObject({ id, status: 'approved', usedAt: START, decidedBy: 'ann', reason: 'fine', version: 3 });
    world.clock.advance(3_600_000);
    expect(granted(await review.resolve(call))).toEqual(used);
    expect(granted(await review.resolve(aCall({ callId: 'call-2' })))).toMatchObject({ status: 'pending' });
    await eventually(() =>
      expect(changes.alerts.filter((alert) => alert.id === id).map(({ version, status }) => [version, status])).toEqual(
        [
          [1, 'pending'],
          [2, 'approved'],
          [3, 'approved'],
        ],
      ),
    );
    await changes.close();
  });

  it('end with their run, unless it may be resumed, and are asked for again if it goes on', async () => {
    const tracker = openDatabase({ url: world.url, role: 'run-tracking', maxConnections: 1 });
    const ids: Record<string, string> = {};
    for (const status of ['succeeded', 'interrupted', 'running']) {
      const runId = `ends-${status}`;
      await sql`
        insert into runs (tenant_id, run_id, agent_id, status, started_at, last_event_at, updated_at)
        values ('acme', ${runId}, 'agent-1', ${status}, ${START}, ${START}, ${START})
      `.execute(tracker.db);
      ids[status] = (await opened(review.binding({ runId }))).id;
    }
    await tracker.close();
    world.clock.advance(31_000);
    await eventually(async () =>
      expect(await review.alert(ids.succeeded ?? '')).toMatchObject({
        ...{ status: 'cancelled', decided_by: 'the end of its run' },
        reason: 'The run ended before anybody decided',
      }),
    );
    for (const status of ['interrupted', 'running'])
      expect(await review.alert(ids[status] ?? '')).toMatchObject({ status: 'pending' });
    const again = await opened(review.binding({ runId: 'ends-succeeded' }));
    expect(again).toMatchObject({ status: 'pending' });
    expect(again.id).not.toBe(ids.succeeded);
  });

  it('are spent when the result of their call is reported, and only those of that call', async () => {
    const [call, other] = [aCall(), aCall({ callId: 'other' })];
    const ids = [];
    for (const one of [call, other]) {
      const { id } = await opened(one);
      granted(await review.decide(id, 'approve'));
      granted(await review.resolve(one));
      ids.push(id);
    }
    expect(granted(await review.spend({ runId: call.runId, callId: 'call-1' }, 'beta'))).toEqual({ spent: 0 });
    expect(granted(await review.spend({ runId: 'elsewhere', callId: 'call-1' }))).toEqual({ spent: 0 });
    expect(granted(await review.spend({ runId: call.runId, callId: 'call-1' }))).toEqual({ spent: 1 });
    const next = granted(await review.resolve(call));
    expect(next).toMatchObject({ status: 'pending' });
    expect(ids).not.toContain(next.id);
    expect(granted(await review.resolve(other))).toMatchObject({ id: ids[1], status: 'approved' });
  });

  it('are not spent if no call has used them yet', async () => {
    const call = aCall();
    const { id } = await opened(call);
    granted(await review.decide(id, 'approve'));
    expect(granted(await review.spend({ runId: call.runId, callId: 'call-1' }))).toEqual({ spent: 0 });
    expect(granted(await review.resolve(call))).toMatchObject({ id, status: 'approved', usedAt: START });
  });

  describe('without call ids', () => {
    const nameless = () => aCall({ callId: undefined });
    const approved = async () => {
      const { id } = await opened(nameless());
      granted(await review.decide(id, 'approve'));
      return id;
    };
    const ended = () => {
      const { runId, toolName, argsHash } = nameless();
      return review.spend({ runId, toolName, argsHash });
    };

    it('allow one of twenty equal calls, and one retry', async () => {
      const id = await approved();
      const answers = await Promise.all(Array.from({ length: 20 }, () => review.resolve(nameless())));
      const passed = answers.map(granted).filter(({ status }) => status === 'approved');
      expect(passed.map((alert) => alert.id)).toEqual([id, id]);
    });

    it('allow a retry only within ten seconds', async () => {
      const id = await approved();
      expect(granted(await review.resolve(nameless()))).toMatchObject({ id, usedAt: START });
      world.clock.advance(10_001);
      const next = granted(await review.resolve(nameless()));
      expect(next).toMatchObject({ status: 'pending' });
      expect(granted(await review.resolve(nameless()))).toEqual(next);
      granted(await review.decide(next.id, 'approve'));
      expect(granted(await review.resolve(nameless()))).toMatchObject({ id: next.id, status: 'approved' });
    });

    it('allow nothing after the result of the call was reported', async () => {
      const id = await approved();
      expect(granted(await review.resolve(nameless()))).toMatchObject({ id, usedAt: START });
      expect(granted(await ended())).toEqual({ spent: 1 });
      expect(granted(await review.resolve(nameless()))).toMatchObject({ status: 'pending' });
    });

    it('recognize a retry by its request id', async () => {
      const id = await approved();
      for (let turn = 0; turn < 3; turn++) {
        expect(granted(await review.resolve(nameless(), { requestId: 'k1' }))).toMatchObject({ id, usedAt: START });
        world.clock.advance(60_000);
      }
      expect(granted(await review.resolve(nameless(), { requestId: 'k2' }))).toMatchObject({ status: 'pending' });
    });
  });

  it('are used once across many replicas', async () => {
    await world.start();
    await world.start();
    const call = aCall();
    const { id } = await opened(call);
    granted(await review.decide(id, 'approve'));
    await Promise.all(Array.from({ length: 10 }, () => review.resolve(call)));
    expect(await review.alert(id)).toMatchObject({ version: 3, used_at: START });
  });

  it.each([
    ['another run', { runId: 'elsewhere' }],
    ['another call', { callId: 'call-9' }],
    ['no call id', { callId: undefined }],
    ['another tool', { toolName: 'refund' }],
    ['other arguments', { argsHash: 'b'.repeat(64) }],
    ['another rule', { ruleId: 'rule-2' }],
    ['a newer version of the rule', { ruleVersion: 2 }],
  ])('are never used by a call with %s', async (_what, fields) => {
    const { id } = await opened();
    granted(await review.decide(id, 'approve'));
    const other = granted(await review.resolve(aCall(fields)));
    expect(other).toMatchObject({ status: 'pending' });
    expect(await review.alert(id)).toMatchObject({ status: 'approved', used_at: null });
  });

  it('are never used by another agent or another tenant', async () => {
    const call = aCall();
    const { id } = await opened(call);
    granted(await review.decide(id, 'approve'));
    expect(await review.resolve(call, { agentId: 'agent-2' })).toMatchObject({ ok: false, problem: { status: 409 } });
    expect(granted(await review.resolve(call, { tenantId: 'beta' }))).toMatchObject({ status: 'pending' });
    expect(await review.alert(id)).toMatchObject({ used_at: null });
  });

  it.each([
    ['deny', 'denied'],
    ['cancel', 'cancelled'],
  ] as const)('return the decision after %s: they stay %s for this call', async (verb, status) => {
    const call = aCall();
    const { id } = await opened(call);
    granted(await review.decide(id, verb, { reason: 'no' }));
    world.clock.advance(7_200_000);
    expect(granted(await review.resolve(call))).toMatchObject({ id, status, reason: 'no', decidedBy: 'ann' });
  });

  it('expire on time, with no further request or decision', async () => {
    const changes = await review.changes();
    const { id } = granted(await review.resolve(aCall(), { expiresInSeconds: 60 }));
    world.clock.advance(60_000);
    await eventually(() => expect(changes.alerts).toContainEqual(expect.objectContaining({ id, status: 'expired' })));
    expect(await review.alert(id)).toMatchObject({ decided_by: null, decided_at: '2026-03-01T12:01:00.000Z' });
    await changes.close();
  });

  it('expire when they are requested after their deadline, even without a sweep', async () => {
    await world.stopAll();
    await world.start({ timings: { pollMs: 3_600_000 } });
    const call = aCall();
    const { id } = granted(await review.resolve(call, { expiresInSeconds: 1 }));
    world.clock.advance(1_000);
    expect(granted(await review.resolve(call))).toMatchObject({ id, status: 'expired' });
    const late = granted(await review.resolve(aCall({ callId: 'late' }), { expiresInSeconds: 1 }));
    world.clock.advance(1_000);
    expect(await review.decide(late.id, 'approve')).toMatchObject({
      ok: false,
      problem: { status: 409, error: 'Alert is expired already' },
    });
    expect(await review.alert(late.id)).toMatchObject({ status: 'expired' });
  });

  it('expire after a restart if the service was down at their deadline', async () => {
    const { id } = granted(await review.resolve(aCall(), { expiresInSeconds: 60 }));
    await world.stopAll();
    world.clock.advance(86_400_000);
    await world.start();
    await eventually(async () => expect(await review.alert(id)).toMatchObject({ status: 'expired' }));
  });

  it('survive a restart between request, decision and use', async () => {
    const call = aCall();
    const { id } = await opened(call);
    await world.stopAll();
    await world.start();
    granted(await review.decide(id, 'approve'));
    await world.stopAll();
    await world.start();
    expect(granted(await review.resolve(call))).toMatchObject({ id, status: 'approved', usedAt: START });
  });

  it('become invalid if no call uses them in time', async () => {
    const call = aCall();
    const { id } = granted(await review.resolve(call, { expiresInSeconds: 60 }));
    world.clock.advance(59_000);
    granted(await review.decide(id, 'approve'));
    world.clock.advance(59_000);
    expect(await review.alert(id)).toMatchObject({ status: 'approved', expires_at: '2026-03-01T12:01:59.000Z' });
    world.clock.advance(1_000);
    expect(granted(await review.resolve(call))).toMatchObject({ id, status: 'expired' });
  });

  it('accept hostile text', async () => {
    const answer = await review.resolve(aCall({ toolName: 'a\u0000b' }));
    expect(answer).toMatchObject({ ok: false, problem: { status: 400 } });
    const title = granted(
      await world.bus.request(COMMANDS.resolveApproval, {
        tenantId: 'acme',
        agentId: 'agent-1',
        binding: aCall(),
        title: `\u0000${'x'.repeat(5_000)}\ud800`,
        message: '\u001b[31m',
        expiresInSeconds: Number.MAX_SAFE_INTEGER,
      }),
    );
    expect(title.title).toHaveLength(199);
    expect(title.message).toBe('[31m');
  });

  describe('with several deciders', () => {
    it('accept the first decision and report its author to later ones', async () => {
      await world.start();
      await world.start();
      const { id } = await opened();
      const verbs = ['approve', 'deny', 'cancel', 'approve', 'deny', 'cancel'] as const;
      const answers = await Promise.all(verbs.map((verb, n) => review.decide(id, verb, { by: `decider-${n}` })));
      const won = answers.filter((answer) => answer.ok).map(granted);
      expect(won).toHaveLength(1);
      const winner = won[0]?.decidedBy ?? '';
      for (const answer of answers.filter(({ ok }) => !ok)) {
        expect(answer).toMatchObject({ problem: { status: 409, hint: expect.stringContaining(winner) } });
      }
      expect(await review.alert(id)).toMatchObject({ version: 2, decided_by: winner, status: won[0]?.status });
    });

    it('are acknowledged without being decided', async () => {
      const call = aCall();
      const { id } = await opened(call);
      expect(granted(await review.decide(id, 'acknowledge'))).toMatchObject({
        status: 'acknowledged',
        acknowledgedBy: 'ann',
        acknowledgedAt: START,
        version: 2,
      });
      expect(granted(await review.decide(id, 'acknowledge', { by: 'bob' }))).toMatchObject({
        acknowledgedBy: 'ann',
        version: 2,
      });
      expect(granted(await review.resolve(call))).toMatchObject({ id, status: 'acknowledged' });
      expect(granted(await review.decide(id, 'approve', { by: 'bob' }))).toMatchObject({
        status: 'approved',
        acknowledgedBy: 'ann',
        decidedBy: 'bob',
      });
      expect(await review.decide(id, 'acknowledge')).toMatchObject({ ok: false, problem: { status: 409 } });
    });

    it('are decided only at the version that was read', async () => {
      const { id } = await opened();
      await review.decide(id, 'acknowledge', { ifVersion: 1 });
      for (const verb of ['acknowledge', 'approve', 'deny', 'cancel'] as const) {
        expect(await review.decide(id, verb, { ifVersion: 1 })).toMatchObject({
          ok: false,
          problem: { status: 412, currentVersion: 2 },
        });
      }
      expect(granted(await review.decide(id, 'deny', { ifVersion: 2 }))).toMatchObject({
        status: 'denied',
        version: 3,
      });
      expect(await review.decide(id, 'approve', { ifVersion: 3 })).toMatchObject({ problem: { status: 409 } });
    });

    it('of another tenant do not exist', async () => {
      const { id } = await opened();
      for (const verb of ['acknowledge', 'approve', 'deny', 'cancel'] as const) {
        expect(await review.decide(id, verb, { tenantId: 'beta' })).toEqual({
          ok: false,
          problem: { error: 'Alert not found', status: 404 },
        });
      }
      expect(await review.alert(id)).toMatchObject({ status: 'pending', version: 1 });
    });
  });
});
