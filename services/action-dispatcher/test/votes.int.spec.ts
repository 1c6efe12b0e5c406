import { ApprovalPolicy, COMMANDS, type VoterRef } from '@agentlens/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Dispatching, START } from './dispatching.ts';
import { granted, type reviewing } from './reviewing.ts';
import { withReview } from './with-review.ts';

const LATER = '2030-01-01T00:00:00.000Z';

describe('approvals that people decide', () => {
  let world: Dispatching;
  let review: ReturnType<typeof reviewing>;
  let run = 0;

  withReview((given, with_) => {
    world = given;
    review = with_;
  });

  /** Runs statements as the owner of the tables: people belong to another service. */
  async function owner(...statements: readonly string[]): Promise<void> {
    const client = new pg.Client({ connectionString: world.url });
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  }

  beforeEach(async () => {
    await owner(
      'truncate people, deputies, on_call_schedules, on_call_overrides, person_grants, teams, team_members, person_identities, approval_policies, audit_entries',
      `insert into people (tenant_id, person_id, name, email, email_verified, claims_until, created_at)
       select 'acme', id, id, id || '@example.com', true, '${LATER}', now() from unnest(array['ann', 'ben', 'cem']) as id`,
      `insert into person_grants (tenant_id, person_id, role, source)
       select 'acme', id, 'approver', 'provider' from unnest(array['ann', 'ben', 'cem']) as id`,
      `insert into teams (tenant_id, team_id, name, agents, created_at) values ('acme', 'finance', 'Finance', '{}', now()),
        ('acme', 'owners', 'Owners', '{agent-*}', now())`,
      `insert into team_members (tenant_id, team_id, person_id, source) values
        ('acme', 'finance', 'ann', 'provider'), ('acme', 'finance', 'ben', 'provider'), ('acme', 'owners', 'ben', 'manual')`,
    );
    await world.start();
  });

  const by = (personId: string, change: Partial<VoterRef> = {}): VoterRef => ({
    ...{ keyId: `key-${personId}`, personId, isAgent: false, via: 'console', sessionId: 's', signedInAt: START },
    ...change,
  });

  async function setPolicy(change: object = {}, personId?: string) {
    const policy = ApprovalPolicy.parse({
      name: 'Payments',
      match: { tools: ['pay*'] },
      approvers: { teams: ['finance'] },
      quorum: 2,
      ...change,
    });
    const author =
      personId === undefined ? {} : { author: { keyId: 'k', keyName: personId, person: personId, personId } };
    return world.bus.request(COMMANDS.setApprovalPolicy, { tenantId: 'acme', policyId: 'payments', policy, ...author });
  }

  const open = async () => granted(await review.resolve(review.binding({ runId: `votes-${run++}` })));

  const vote = async (alertId: string, voter: VoterRef, verb: 'approve' | 'deny' = 'approve', more: object = {}) => {
    const author = {
      keyId: voter.keyId,
      keyName: voter.personId ?? 'key',
      ...(voter.personId === undefined ? {} : { person: voter.personId, personId: voter.personId }),
    };
    const answer = await world.bus.request(COMMANDS.decideAlert, {
      tenantId: 'acme',
      alertId,
      verb,
      by: voter.personId ?? 'key',
      voter,
      author,
      ...more,
    });
    return answer.ok ? answer.value : { ...answer.problem, status: answer.problem.status };
  };

  const votes = async (alertId: string, voter = by('ann')) =>
    granted(await world.bus.request(COMMANDS.readVotes, { tenantId: 'acme', alertId, voter }));

  it('needs two different people of the team, and says what is missing', async () => {
    granted(await setPolicy());
    const alert = await open();
    expect(alert).toMatchObject({ policy: 'Payments', quorum: 2 });
    expect(await votes(alert.id)).toMatchObject({ needs: 2, eligible: 2, mayVote: true, unreachable: false });
    expect(await votes(alert.id, by('cem'))).toMatchObject({ mayVote: false, because: 'not_named' });
    expect(await vote(alert.id, by('ann'))).toMatchObject({ status: 'pending', version: 2 });
    expect(await vote(alert.id, by('ann'))).toMatchObject({ status: 'pending', version: 2 });
    expect(await vote(alert.id, by('cem'))).toMatchObject({ status: 403, code: 'not_named' });
    expect(await votes(alert.id)).toMatchObject({
      needs: 1,
      votes: [{ name: 'ann', verdict: 'approve', via: 'console', counts: true }],
    });
    expect(await vote(alert.id, by('ben'))).toMatchObject({ status: 'approved', decidedBy: 'ann; ben' });
  });

  it('counts accounts with the same verified e-mail as one person', async () => {
    granted(await setPolicy());
    const alert = await open();
    await owner(`update people set email = 'Ann@Example.com' where person_id = 'ben'`);
    expect(await votes(alert.id)).toMatchObject({ eligible: 1, unreachable: true });
    expect(await vote(alert.id, by('ann'))).toMatchObject({ status: 'pending' });
    expect(await vote(alert.id, by('ben'))).toMatchObject({ status: 'pending' });
    await owner(`update people set email_verified = false where person_id = 'ben'`);
    expect(await vote(alert.id, by('ben'))).toMatchObject({ status: 'approved' });
  });

  it('excludes everyone who changed the policy within a day, not only the last one', async () => {
    const starter = { quorum: 1, separation: 'starter', approvers: { anyone: true } };
    granted(await setPolicy(starter, 'ann'));
    granted(await setPolicy({ ...starter, via: ['console'] }, 'ben'));
    const alert = await open();
    for (const person of ['ann', 'ben']) {
      expect(await vote(alert.id, by(person))).toMatchObject({
        code: 'own_request',
        details: [{ message: 'changed_the_policy' }],
      });
    }
    expect(await vote(alert.id, by('cem'))).toMatchObject({ status: 'approved' });
  });

  it('is not shared by a rule to which another policy applies', async () => {
    granted(await setPolicy({ match: { rules: ['careful'] } }));
    const also = [
      { ruleId: 'careful', ruleVersion: 1 },
      { ruleId: 'usual', ruleVersion: 1 },
    ];
    const question = { ...review.binding({ runId: `votes-${run++}` }), also };
    const lax = granted(await review.resolve(question));
    expect(lax.policy).toBeUndefined();
    expect(lax.approval).toMatchObject({ also: [{ ruleId: 'usual' }] });
    expect(granted(await review.resolve(question)).id).toBe(lax.id);
    const careful = granted(await review.resolve({ ...question, ruleId: 'careful', also: [] }));
    expect(careful).toMatchObject({ policy: 'Payments', quorum: 2 });
  });

  it('is denied by one person, also after others have approved', async () => {
    granted(await setPolicy());
    const alert = await open();
    await vote(alert.id, by('ann'));
    expect(await vote(alert.id, by('ben'), 'deny')).toMatchObject({ status: 'denied', decidedBy: 'ben' });
  });

  it('is decided once if two people approve at the same moment', async () => {
    granted(await setPolicy());
    const alert = await open();
    const answers = await Promise.all([vote(alert.id, by('ann')), vote(alert.id, by('ben'))]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['approved', 'pending']));
  });

  it('does not count the vote of a person who lost the group or was disabled', async () => {
    granted(await setPolicy());
    for (const loss of [
      "delete from team_members where person_id = 'ann'",
      "update people set state = 'disabled' where person_id = 'ann'",
    ]) {
      const alert = await open();
      await vote(alert.id, by('ann'));
      await owner(loss);
      expect(await vote(alert.id, by('ben'))).toMatchObject({ status: 'pending' });
      expect(await votes(alert.id, by('ben'))).toMatchObject({ needs: 1, eligible: 1, unreachable: true });
    }
  });

  it('ends the rights of claims seven days after the last sign-in', async () => {
    granted(await setPolicy({ quorum: 1 }));
    const alert = await open();
    await owner(`update people set claims_until = '${START}'`);
    expect(await vote(alert.id, by('ann'))).toMatchObject({ status: 403, code: 'no_review' });
  });

  it('keeps the policy that it was opened with', async () => {
    granted(await setPolicy());
    const alert = await open();
    granted(await setPolicy({ quorum: 1, approvers: { anyone: true } }));
    expect(await vote(alert.id, by('cem'))).toMatchObject({ status: 403, code: 'not_named' });
    expect(await vote(alert.id, by('ann'))).toMatchObject({ status: 'pending' });
  });

  it('is not decided by who asked for it, owns the agent, or changed the policy lately', async () => {
    granted(await setPolicy({ quorum: 1, separation: 'owner' }, 'cem'));
    await owner(
      `insert into runs (tenant_id, run_id, agent_id, status, started_at, last_event_at, updated_at, actor_id)
       values ('acme', 'votes-${run}', 'agent-1', 'running', '${START}', '${START}', '${START}', 'ANN@example.com')`,
    );
    const alert = await open();
    expect(await vote(alert.id, by('ann'))).toMatchObject({
      code: 'own_request',
      details: [{ message: 'is_the_end_user' }],
    });
    expect(await vote(alert.id, by('ben'))).toMatchObject({
      code: 'own_request',
      details: [{ message: 'is_in_the_owning_team' }],
    });
    await owner(
      `insert into team_members (tenant_id, team_id, person_id, source) values ('acme', 'finance', 'cem', 'manual')`,
    );
    expect(await vote(alert.id, by('cem'))).toMatchObject({
      code: 'own_request',
      details: [{ message: 'changed_the_policy' }],
    });
  });

  it('accepts votes only the ways of the policy, with a fresh sign-in, about the call that was shown', async () => {
    granted(await setPolicy({ quorum: 1, freshSignInSeconds: 60 }));
    const alert = await open();
    expect(await vote(alert.id, by('ann', { via: 'cli' }))).toMatchObject({ status: 403, code: 'not_here' });
    expect(await vote(alert.id, by('ann', { signedInAt: '2020-01-01T00:00:00.000Z' }))).toMatchObject({
      status: 401,
      code: 'sign_in_again',
    });
    expect(await vote(alert.id, by('ann'), 'approve', { callHash: 'b'.repeat(64) })).toMatchObject({
      status: 412,
      code: 'other_call',
    });
    expect(await vote(alert.id, { keyId: 'program', isAgent: false, via: 'api' })).toMatchObject({
      status: 403,
      code: 'not_here',
    });
    expect(await vote(alert.id, by('ann'))).toMatchObject({ status: 'approved' });
  });

  const audited = async (alertId: string) => {
    const client = new pg.Client({ connectionString: world.url });
    await client.connect();
    try {
      const { rows } = await client.query(
        `select after, person_id from audit_entries where kind = 'vote.cast' and target_id = $1 order by person_id`,
        [alertId],
      );
      return rows;
    } finally {
      await client.end();
    }
  };
  const nameDeputy = (person: string, deputy: string, from = '2020-01-01', until = LATER) =>
    owner(
      `insert into deputies (tenant_id, person_id, deputy_id, starts_at, ends_at, created_at)
       values ('acme', '${person}', '${deputy}', '${from}', '${until}', now())`,
    );

  it('may be decided by a deputy, whose vote is named with the person and fills that place once', async () => {
    granted(await setPolicy());
    await nameDeputy('ann', 'cem');
    const alert = await open();
    expect(await votes(alert.id, by('cem'))).toMatchObject({ mayVote: true, eligible: 2 });
    expect(await vote(alert.id, by('cem'))).toMatchObject({ status: 'pending' });
    expect(await votes(alert.id)).toMatchObject({
      ...{ needs: 1, votes: [{ name: 'cem', standsInFor: [{ person: 'ann', name: 'ann' }], counts: true }] },
      awaited: [{ person: 'ben' }],
    });
    expect(await vote(alert.id, by('ann'))).toMatchObject({ status: 'pending' });
    expect(await votes(alert.id)).toMatchObject({ needs: 1, votes: [{ counts: true }, { counts: true }] });
    expect(await vote(alert.id, by('ben'))).toMatchObject({
      ...{ status: 'approved', decidedBy: 'ann; cem for ann; ben' },
    });
    expect(await audited(alert.id)).toMatchObject([
      ...[{ person_id: 'ann' }, { person_id: 'ben' }],
      { person_id: 'cem', after: { vote: 'approve', standsInFor: [{ person: 'ann', name: 'ann' }] } },
    ]);
  });

  it('is denied by a deputy in the name of both', async () => {
    granted(await setPolicy());
    await nameDeputy('ann', 'cem');
    const alert = await open();
    expect(await vote(alert.id, by('cem'), 'deny')).toMatchObject({ status: 'denied', decidedBy: 'cem for ann' });
  });

  it.each([
    ['whose time has not come', () => nameDeputy('ann', 'cem', '2029-01-01'), 'not_named'],
    ['whose time has ended', () => nameDeputy('ann', 'cem', '2019-01-01', '2019-01-02'), 'not_named'],
    [
      'of a person who was disabled',
      async () => {
        await nameDeputy('ann', 'cem');
        await owner("update people set state = 'disabled' where person_id = 'ann'");
      },
      'not_named',
    ],
    [
      'of a deputy',
      async () => {
        await owner("delete from team_members where person_id = 'ben'");
        await nameDeputy('ann', 'ben');
        await nameDeputy('ben', 'cem');
      },
      'not_named',
    ],
  ])('is not decided by a deputy %s', async (_what, prepare, code) => {
    granted(await setPolicy({ quorum: 1 }));
    await prepare();
    const alert = await open();
    expect(await vote(alert.id, by('cem'))).toMatchObject({ status: 403, code });
  });

  it('is not decided by a deputy of the person who asked for it', async () => {
    granted(await setPolicy({ quorum: 1, separation: 'starter' }));
    await nameDeputy('ann', 'cem');
    await owner(
      `insert into runs (tenant_id, run_id, agent_id, status, started_at, last_event_at, updated_at, actor_id)
       values ('acme', 'votes-${run}', 'agent-1', 'running', '${START}', '${START}', '${START}', 'ann@example.com')`,
    );
    const alert = await open();
    expect(await vote(alert.id, by('cem'))).toMatchObject({ status: 403, code: 'stands_in_for_the_requester' });
    expect(await votes(alert.id, by('cem'))).toMatchObject({
      ...{ mayVote: false, because: 'stands_in_for_the_requester', explanation: expect.stringContaining('stand in') },
    });
  });

  const ON_CALL = { approvers: { onCall: ['platform'] }, quorum: 1 };
  /** Ann and Ben take turns each day at noon, when the clock of these tests starts. */
  const schedule = (
    layers: readonly object[] = [{ people: ['ann', 'ben'], rotation: 'day', startsOn: '2026-03-01' }],
  ) =>
    owner(`insert into on_call_schedules (tenant_id, schedule_id, name, layers, created_at) values ('acme', 'platform',
      'Platform', '${JSON.stringify(layers.map((one) => ({ handover: '12:00', zone: 'UTC', ...one })))}', now())`);
  const override = (person: string, from: string, to: string) =>
    owner(
      `insert into on_call_overrides values ('acme', 'platform', 'o-${person}', '${person}', '${from}', '${to}', now())`,
    );

  it('is decided by the person on call, and says who that is', async () => {
    await schedule();
    granted(await setPolicy(ON_CALL));
    const alert = await open();
    expect(await votes(alert.id, by('ben'))).toMatchObject({
      ...{ eligible: 1, unreachable: false, mayVote: false, because: 'not_named' },
      awaited: [{ person: 'ann', name: 'ann', onCall: ['Platform'] }],
    });
    expect(await vote(alert.id, by('ben'))).toMatchObject({
      ...{ status: 403, code: 'not_named', details: [{ message: 'named: on call platform' }] },
    });
    expect(await vote(alert.id, by('ann'))).toMatchObject({ status: 'approved', decidedBy: 'ann' });
  });

  it('is decided by the person on call at the opening or at the vote, and by no other', async () => {
    await schedule([{ people: ['ann', 'ben', 'cem'], rotation: 'day', startsOn: '2026-03-01' }]);
    granted(await setPolicy({ ...ON_CALL, quorum: 2 }));
    world.clock.advance(-1_000);
    await override('cem', '2026-03-01T11:00:00Z', '2026-03-01T12:00:00Z');
    const alert = await open();
    world.clock.advance(1_000);
    expect(await votes(alert.id)).toMatchObject({ awaited: [{ person: 'ann' }, { person: 'cem' }] });
    expect(await vote(alert.id, by('ben'))).toMatchObject({ status: 403, code: 'not_named' });
    expect(await vote(alert.id, by('cem'))).toMatchObject({ status: 'pending' });
    expect(await vote(alert.id, by('ann'))).toMatchObject({ status: 'approved', decidedBy: 'cem; ann' });
  });

  it('no longer counts a vote of a person who is off call at the decision', async () => {
    await schedule([]);
    granted(await setPolicy({ ...ON_CALL, quorum: 2, approvers: { people: ['ben'], onCall: ['platform'] } }));
    const alert = await open();
    world.clock.advance(1_000);
    await override('cem', '2026-03-01T12:00:01Z', '2026-03-01T12:00:05Z');
    expect(await vote(alert.id, by('cem'))).toMatchObject({ status: 'pending' });
    world.clock.advance(4_000);
    expect(await votes(alert.id)).toMatchObject({ needs: 2, votes: [{ voter: 'cem', counts: false }] });
    expect(await vote(alert.id, by('ben'))).toMatchObject({ status: 'pending' });
  });

  it.each([
    ['an empty shift', [], undefined],
    ['a person who was disabled', undefined, "update people set state = 'disabled' where person_id = 'ann'"],
    ['a person who may no longer review', undefined, "delete from person_grants where person_id = 'ann'"],
  ])('cannot be decided with %s on call, and says so', async (_what, layers, change) => {
    await schedule(layers);
    if (change !== undefined) await owner(change);
    granted(await setPolicy(ON_CALL));
    const alert = await open();
    expect(await votes(alert.id)).toMatchObject({ eligible: 0, unreachable: true, awaited: [] });
    expect(await vote(alert.id, by('ben'))).toMatchObject({ status: 403, code: 'not_named' });
    const raised = await world.db.selectFrom('alerts').select('title').where('kind', '=', 'security').execute();
    expect(raised.map(({ title }) => title)).toContain(
      'The policy "Payments" needs a person, and no person may decide',
    );
  });

  it('is decided by a deputy of the person on call', async () => {
    await schedule();
    granted(await setPolicy(ON_CALL));
    await nameDeputy('ann', 'cem');
    const alert = await open();
    expect(await vote(alert.id, by('cem'))).toMatchObject({ status: 'approved', decidedBy: 'cem for ann' });
  });

  it.each([
    ['starter', { status: 403, code: 'own_request', details: [{ message: 'changed_the_schedule' }] }],
    ['none', { status: 'approved' }],
  ])('is not decided by a person who changed the schedule, under separation: %s', async (separation, expected) => {
    await schedule();
    granted(await setPolicy({ ...ON_CALL, separation }));
    await owner(`insert into audit_entries (tenant_id, entry_id, at, kind, target, target_id, person_id) values
      ('acme', 'e-1', '2026-03-01T11:00:00Z', 'on_call.override_added', 'on_call', 'platform', 'ann')`);
    expect(await vote((await open()).id, by('ann'))).toMatchObject(expected);
  });

  it('needs a schedule of this tenant', async () => {
    await owner(`insert into on_call_schedules (tenant_id, schedule_id, name, layers, created_at) values
      ('globex', 'platform', 'Platform', '[]', now())`);
    expect(await setPolicy(ON_CALL)).toMatchObject({
      ...{ ok: false, problem: { status: 422, error: 'There is no on-call schedule "platform"' } },
    });
  });

  it('reports what a policy in report mode would refuse, and refuses nothing', async () => {
    granted(await setPolicy({ mode: 'report' }));
    const alert = await open();
    expect(await vote(alert.id, by('cem'))).toMatchObject({ status: 'approved', decidedBy: 'cem' });
    expect(await audited(alert.id)).toMatchObject([
      { person_id: 'cem', after: { vote: 'approve', wouldRefuse: 'not_named' } },
    ]);
  });

  it('raises one alert while not enough people may decide, and ends it when they may again', async () => {
    granted(await setPolicy({ quorum: 3 }));
    const raised = () =>
      world.db
        .selectFrom('alerts')
        .selectAll()
        .where('kind', '=', 'security')
        .where('title', 'like', '%needs 3 people%')
        .execute();
    await open();
    await open();
    expect(await raised()).toMatchObject([
      {
        ...{ status: 'pending', severity: 'error', suppressed: 1 },
        title: 'The policy "Payments" needs 3 people, and 2 people may decide',
        message: expect.stringContaining('name a deputy'),
      },
    ]);
    await owner(
      `insert into team_members (tenant_id, team_id, person_id, source) values ('acme', 'finance', 'cem', 'manual')`,
    );
    await open();
    expect(await raised()).toMatchObject([{ status: 'cancelled', reason: 'Enough people may decide again' }]);
  });

  it('works as before without a policy: a key decides alone', async () => {
    const alert = await open();
    expect(alert).not.toHaveProperty('policy');
    expect(await vote(alert.id, { keyId: 'program', isAgent: false, via: 'api' })).toMatchObject({
      status: 'approved',
    });
  });

  it('refuses a policy that names a team that does not exist', async () => {
    expect(await setPolicy({ approvers: { teams: ['ghosts'] } })).toMatchObject({
      ok: false,
      problem: { status: 422 },
    });
  });
});
