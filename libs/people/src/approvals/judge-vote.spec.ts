import { type ApprovalPolicy, SEPARATIONS, WAYS } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ballot, HASH, person, policy, vote } from './ballot.testing.ts';
import { type Ballot, countEligible, judgeVote, LINES, type Vote, type VoteRefusal, type Voter } from './judge-vote.ts';

const finance = policy({ approvers: { teams: ['finance'], people: [], anyone: false }, quorum: 2 });
const ann = person('ann', { teams: ['finance'] });
const ben = person('ben', { teams: ['finance'] });

/** A vote that only the named line refuses. */
const REFUSED_BY: Readonly<Record<keyof typeof LINES, readonly [Ballot, Vote, VoteRefusal]>> = {
  kind: [ballot({ kind: 'rule' }), vote(ann), 'not_an_approval'],
  lapsed: [ballot({ state: 'lapsed' }), vote(ann), 'expired'],
  decided: [ballot({ state: 'decided' }), vote(ann), 'decided'],
  version: [ballot({ version: 2 }), vote(ann, { ifVersion: 1 }), 'other_version'],
  callHash: [ballot(), vote(ann, { callHash: 'b'.repeat(64) }), 'other_call'],
  agentKey: [ballot(), vote(person('bot', { isPerson: false, isAgent: true }), { via: 'api' }), 'agent_key'],
  disabled: [ballot(), vote(person('ann', { isDisabled: true })), 'disabled'],
  way: [ballot({ policy: policy({ via: ['console'] }) }), vote(ann, { via: 'cli' }), 'not_here'],
  freshSignIn: [
    ballot({ policy: policy({ freshSignInSeconds: 60 }) }),
    vote(ann, { signedInSecondsAgo: 61 }),
    'sign_in_again',
  ],
  review: [ballot(), vote(person('ann', { reviews: ['support-*'] })), 'no_review'],
  named: [ballot({ policy: finance }), vote(person('cem', { teams: ['sales'] })), 'not_named'],
  peopleOnly: [
    ballot({ policy: policy({ quorum: 2 }) }),
    vote(person('key', { isPerson: false }), { via: 'api' }),
    'people_only',
  ],
  separation: [
    ballot({ policy: policy({ separation: 'starter' }), requesters: { ann: 'started_the_run' } }),
    vote(ann),
    'own_request',
  ],
  whole: [ballot({ isCut: true }), vote(ann), 'call_not_whole'],
  deniedBefore: [ballot({ votes: [{ voter: ann, verdict: 'deny' }] }), vote(ann), 'denied_before'],
};

describe('a vote', () => {
  it.each(Object.entries(REFUSED_BY))('is refused by the line %s, with a reason of its own', (_, [of, by, because]) => {
    expect(judgeVote(of, by)).toEqual({ kind: 'refused', because });
  });

  it.each(Object.entries(REFUSED_BY))(
    'counts if a mutant leaves out the line %s, so each line is tested',
    (name, [of, by]) => {
      const mutant = Object.fromEntries(Object.entries(LINES).filter(([other]) => other !== name));
      expect(judgeVote(of, by, mutant).kind).toBe('counted');
    },
  );

  it('is answered by the first line that refuses', () => {
    const hopeless = ballot({ kind: 'rule', state: 'decided', policy: policy({ via: ['console'] }) });
    expect(judgeVote(hopeless, vote(ann, { via: 'mcp' }))).toEqual({ kind: 'refused', because: 'not_an_approval' });
  });

  it('approves when the quorum is reached, by different people', () => {
    const first = judgeVote(ballot({ policy: finance }), vote(ann));
    expect(first).toEqual({ kind: 'counted', outcome: 'open', approvals: 1 });
    const voted = ballot({ policy: finance, votes: [{ voter: ann, verdict: 'approve' }] });
    expect(judgeVote(voted, vote(ann))).toEqual({ kind: 'unchanged', approvals: 1 });
    expect(judgeVote(voted, vote(ben))).toEqual({ kind: 'counted', outcome: 'approved', approvals: 2 });
  });

  it('does not count approvals of people who may no longer decide', () => {
    const gone: Partial<Voter>[] = [{ isDisabled: true }, { reviews: [] }, { teams: [] }];
    for (const change of gone) {
      const voted = ballot({ policy: finance, votes: [{ voter: { ...ann, ...change }, verdict: 'approve' }] });
      expect(judgeVote(voted, vote(ben))).toEqual({ kind: 'counted', outcome: 'open', approvals: 1 });
    }
  });

  it('of a second account of the same human being fills no other place, and is excluded like the first', () => {
    const other = person('ann-2', { teams: ['finance'], otherAccounts: ['ann'] });
    const first = { ...ann, otherAccounts: ['ann-2'] };
    const voted = ballot({ policy: finance, votes: [{ voter: first, verdict: 'approve' }] });
    expect(judgeVote(voted, vote(other))).toEqual({ kind: 'counted', outcome: 'open', approvals: 1 });
    expect(countEligible(voted, [first, other])).toBe(1);
    const asked = { requesters: { ann: 'started_the_run' }, policy: policy({ separation: 'starter' }) };
    expect(judgeVote(ballot(asked), vote(other))).toEqual({ kind: 'refused', because: 'own_request' });
    const owned = { owners: ['ann'], policy: policy({ separation: 'owner' }) };
    expect(judgeVote(ballot(owned), vote(other))).toEqual({ kind: 'refused', because: 'own_request' });
  });

  it('denies at once, also if others have approved and if the voter approved before', () => {
    const voted = ballot({ policy: { ...finance, quorum: 3 }, votes: [{ voter: ann, verdict: 'approve' }] });
    for (const voter of [ann, ben]) {
      expect(judgeVote(voted, vote(voter, { verdict: 'deny' }))).toMatchObject({ kind: 'counted', outcome: 'denied' });
    }
  });

  describe('by a deputy', () => {
    const eve = (...standsInFor: Voter[]) => person('eve', { standsInFor });
    const one = { ...finance, quorum: 1 };

    it('counts because the policy names the person who named the deputy', () => {
      expect(judgeVote(ballot({ policy: one }), vote(eve(ann)))).toMatchObject({ outcome: 'approved' });
      expect(judgeVote(ballot({ policy: one }), vote(eve()))).toEqual({ kind: 'refused', because: 'not_named' });
    });

    it('is not a second vote of that person, in either order', () => {
      const voted = (voter: Voter) => ballot({ policy: finance, votes: [{ voter, verdict: 'approve' }] });
      expect(judgeVote(voted(ann), vote(eve(ann)))).toMatchObject({ outcome: 'open', approvals: 1 });
      expect(judgeVote(voted(eve(ann)), vote(ann))).toMatchObject({ outcome: 'open', approvals: 1 });
      expect(judgeVote(voted(person('fay', { standsInFor: [ann] })), vote(eve(ann)))).toMatchObject({ approvals: 1 });
      expect(judgeVote(voted(eve(ann)), vote(ben))).toMatchObject({ outcome: 'approved', approvals: 2 });
    });

    it('gives nothing that the person could not do, and does not chain', () => {
      const cannot: Partial<Voter>[] = [{ isDisabled: true }, { reviews: [] }, { teams: [] }];
      for (const change of [...cannot, { teams: [], standsInFor: [ann] }]) {
        const answer = judgeVote(ballot({ policy: one }), vote(eve({ ...ann, ...change })));
        expect(answer).toEqual({ kind: 'refused', because: 'not_named' });
      }
    });

    it('gives nothing for a person who asked for the call', () => {
      const asked = ballot({ policy: { ...one, separation: 'starter' }, requesters: { ann: 'started_the_run' } });
      expect(judgeVote(asked, vote(eve(ann)))).toEqual({ kind: 'refused', because: 'stands_in_for_the_requester' });
      expect(judgeVote(asked, vote(eve(ann, ben)))).toMatchObject({ outcome: 'approved' });
    });

    it('needs the right to review, and is not cast by one who asked for the call', () => {
      const asked = ballot({ policy: { ...one, separation: 'starter' }, requesters: { eve: 'started_the_run' } });
      expect(judgeVote(asked, vote(eve(ann)))).toEqual({ kind: 'refused', because: 'own_request' });
      const blind = { ...eve(ann), reviews: [] };
      expect(judgeVote(ballot({ policy: one }), vote(blind))).toEqual({ kind: 'refused', because: 'no_review' });
    });

    it('makes the quorum reachable only if another place is filled', () => {
      const of = ballot({ policy: finance });
      expect(countEligible(of, [ann, eve(ann)])).toBe(1);
      expect(countEligible(of, [ann, eve(ben)])).toBe(2);
    });
  });

  it('excludes members of teams that own the agent only with the separation "owner"', () => {
    const owned = (separation: (typeof SEPARATIONS)[number]) =>
      judgeVote(ballot({ owners: ['ann'], policy: policy({ separation }) }), vote(ann)).kind;
    expect(SEPARATIONS.map(owned)).toEqual(['counted', 'counted', 'refused']);
  });

  it('is only reported in report mode, except for what no policy decides', () => {
    const reported = ballot({ policy: { ...finance, mode: 'report' } });
    expect(judgeVote(reported, vote(person('cem')))).toEqual({
      ...{ kind: 'counted', outcome: 'approved', approvals: 1 },
      wouldRefuse: 'not_named',
    });
    expect(judgeVote(reported, vote(person('cem', { isDisabled: true })))).toMatchObject({ kind: 'refused' });
  });
});

const Id = fc.constantFrom('ann', 'ben', 'cem', 'dia', 'eve');
const AnyVoter = fc.record({
  id: Id,
  isPerson: fc.boolean(),
  isAgent: fc.boolean(),
  isDisabled: fc.boolean(),
  reviews: fc.constantFrom<Voter['reviews'][]>('all', ['billing-*'], ['other'], []),
  teams: fc.subarray(['finance', 'sales']),
});
const AnyPolicy = fc.record({
  name: fc.constant('any'),
  match: fc.constant<ApprovalPolicy['match']>({ tools: [], agents: [], rules: [] }),
  approvers: fc.record({ teams: fc.subarray(['finance']), people: fc.subarray(['ann', 'ben']), anyone: fc.boolean() }),
  quorum: fc.integer({ min: 1, max: 5 }),
  separation: fc.constantFrom(...SEPARATIONS),
  via: fc.subarray([...WAYS], { minLength: 1 }),
  mode: fc.constant('enforce' as const),
});
const AnyBallot = fc.record({
  kind: fc.constant('approval'),
  state: fc.constant('open' as const),
  version: fc.constant(1),
  agentId: fc.constant('billing-1'),
  callHash: fc.constant(HASH),
  isCut: fc.boolean(),
  policy: AnyPolicy,
  requesters: fc.dictionary(Id, fc.constant('started_the_run'), { maxKeys: 2 }),
  owners: fc.subarray(['ann', 'cem']),
  votes: fc.uniqueArray(fc.record({ voter: AnyVoter, verdict: fc.constantFrom('approve' as const) }), {
    selector: ({ voter }) => voter.id,
  }),
});
const AnyVote = fc.record({
  voter: AnyVoter,
  verdict: fc.constantFrom('approve' as const, 'deny' as const),
  via: fc.constantFrom(...WAYS),
});

describe('votes of any people under any policy', () => {
  it('approve only with a quorum of different people who may all decide now', () => {
    fc.assert(
      fc.property(AnyBallot, AnyVote, (of, by) => {
        const answer = judgeVote(of, by);
        if (answer.kind !== 'counted' || answer.outcome !== 'approved') return;
        const approving = [...of.votes.filter(({ voter }) => voter.id !== by.voter.id), by].filter(({ voter }) => {
          const { policy: p } = of;
          const named =
            p.approvers.anyone ||
            (voter.isPerson &&
              (p.approvers.people.includes(voter.id) || p.approvers.teams.some((team) => voter.teams.includes(team))));
          const separate =
            p.separation === 'none' ||
            !(voter.id in of.requesters || (p.separation === 'owner' && of.owners.includes(voter.id)));
          const reviews = voter.reviews === 'all' || voter.reviews.includes('billing-*');
          return (
            named && separate && reviews && !voter.isAgent && !voter.isDisabled && (p.quorum === 1 || voter.isPerson)
          );
        });
        expect(approving.length).toBeGreaterThanOrEqual(of.policy.quorum);
        expect(by.verdict).toBe('approve');
        expect(of.isCut).toBe(false);
        expect(of.policy.via).toContain(by.via);
      }),
    );
  });

  it('are never admitted because of what an agent claims: more requesters never allow more', () => {
    fc.assert(
      fc.property(AnyBallot, AnyVote, Id, (of, by, claimed) => {
        const before = judgeVote(of, by);
        const after = judgeVote({ ...of, requesters: { ...of.requesters, [claimed]: 'is_the_end_user' } }, by);
        if (before.kind === 'refused') expect(after.kind).toBe('refused');
        if (after.kind === 'counted' && after.outcome === 'approved')
          expect(before).toMatchObject({ outcome: 'approved' });
      }),
    );
  });

  it('do not depend on the order of the stored votes', () => {
    fc.assert(
      fc.property(AnyBallot, AnyVote, (of, by) => {
        expect(judgeVote({ ...of, votes: of.votes.toReversed() }, by)).toEqual(judgeVote(of, by));
      }),
    );
  });
});

describe('the number of people who can approve', () => {
  it('leaves out those who are not named or asked for the call', () => {
    const of = ballot({ policy: { ...finance, separation: 'starter' }, requesters: { ann: 'started_the_run' } });
    expect(countEligible(of, [ann, ben, person('cem')])).toBe(1);
  });
});
