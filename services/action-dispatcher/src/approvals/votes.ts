import { AppliedPolicy, type ApprovalVote, type ApprovalVotes, type VoterRef } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import {
  countEligible,
  findPrincipals,
  judgeVote,
  type Vote,
  type VoteAnswer,
  type VoteRefusal,
} from '@agentlens/people';
import type { Kysely, Transaction } from 'kysely';
import { type AlertRow, cleanText, lockAlert } from '../alerts/alerts.repository.ts';
import { type CommandAnswer, refusal } from '../answer.ts';
import { findVoter, type ReadBallot, readBallot, readNames, type VoteRow } from './ballots.ts';

const MAX_AWAITED = 20;

interface CastVote {
  readonly verdict: 'approve' | 'deny';
  readonly voter: VoterRef;
  readonly name: string;
  readonly reason: string | null;
  readonly callHash?: string | undefined;
  readonly ifVersion?: number | undefined;
}

interface Named {
  readonly person: string;
  readonly name: string;
}

export interface JudgedVote {
  readonly answer: VoteAnswer;
  /** Names of the people whose approval counted, with those in whose place they decided. */
  readonly names: readonly string[];
  /** People in whose place the voter decided, as their deputy. */
  readonly standsInFor: readonly Named[];
  readonly read: ReadBallot;
}

/** Judges a vote and stores it, in the transaction that has locked the approval. */
export async function castVote(
  tx: Transaction<Tables>,
  row: AlertRow,
  cast: CastVote,
  now: number,
): Promise<JudgedVote> {
  const read = await readBallot(tx, row, now);
  const { voter: ref, verdict, name, reason } = cast;
  const judged = voteFrom(read, cast, now);
  const answer = judgeVote(read.ballot, judged);
  const principals = findPrincipals(read.ballot, judged.voter).map(({ id }) => id);
  const isNew = answer.kind === 'counted';
  if (isNew) {
    const values = {
      ...{ name, verdict, reason, via: ref.via, at: new Date(now).toISOString() },
      ...{ is_person: ref.personId !== undefined, session_id: ref.sessionId ?? null },
      stands_in_for: principals.length === 0 ? null : principals,
    };
    await tx
      .insertInto('approval_votes')
      .values({ tenant_id: row.tenant_id, alert_id: row.alert_id, voter: ref.personId ?? ref.keyId, ...values })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'alert_id', 'voter']).doUpdateSet(values))
      .execute();
  }
  const others = read.votes.filter(
    ({ voter, verdict: theirs }) =>
      theirs === 'approve' && voter !== (ref.personId ?? ref.keyId) && counts(read, voter),
  );
  const all = [...others, { name, stands_in_for: isNew ? principals : null }];
  const named = await readNames(
    tx,
    row.tenant_id,
    all.flatMap(({ stands_in_for: ids }) => ids ?? []),
  );
  const names = all.map((one) => {
    const places = findNamed(named, one).map((place) => place.name);
    return places.length === 0 ? one.name : `${one.name} for ${places.join(' and ')}`;
  });
  return { answer, names, standsInFor: findNamed(named, { stands_in_for: isNew ? principals : null }), read };
}

/** The people in whose place a vote was cast. One who was deleted keeps the id. */
function findNamed(
  names: ReadonlyMap<string, string>,
  { stands_in_for: ids }: Pick<VoteRow, 'stands_in_for'>,
): Named[] {
  return (ids ?? []).map((person) => ({ person, name: names.get(person) ?? person }));
}

function voteFrom(read: ReadBallot, { voter, verdict, callHash, ifVersion }: CastVote, now: number): Vote {
  const { via, signedInAt } = voter;
  const signedInSecondsAgo = signedInAt === undefined ? undefined : (now - Date.parse(signedInAt)) / 1_000;
  return { voter: findVoter(read, voter), verdict, via, signedInSecondsAgo, callHash, ifVersion };
}

const TEXTS: Readonly<Partial<Record<VoteRefusal, readonly [status: number, error: string, hint: string]>>> = {
  other_call: [412, 'This is not the call that you were shown', 'Read the call again, then decide.'],
  agent_key: [403, 'An agent may not decide an approval', 'Use a key without "ingest" and "decide".'],
  disabled: [401, 'Your account is disabled', 'Ask an administrator.'],
  not_here: [403, 'The policy of this approval does not accept votes this way', 'Vote where the policy allows it.'],
  sign_in_again: [401, 'This approval needs a fresh sign-in', 'Sign in again with the provider, then vote.'],
  no_review: [403, 'You may not review calls of this agent', 'Ask an administrator for the role approver.'],
  not_named: [
    403,
    'The policy of this approval does not name you',
    'The teams, people and on-call schedules that it names decide.',
  ],
  stands_in_for_the_requester: [
    403,
    'You stand in for a person who may not decide this call',
    'Another person decides: separation of duties.',
  ],
  people_only: [403, 'Only people vote on this approval', 'It needs several votes, and a key is not a person.'],
  own_request: [403, 'You may not decide this call', 'Another person decides: separation of duties.'],
  denied_before: [409, 'You have denied this call', 'A denial stands.'],
};

/** The problem of a refused vote; undefined for refusals that depend on the state of the alert. */
export function refusedVote(
  because: VoteRefusal,
  { ballot }: ReadBallot,
  voter: VoterRef,
): CommandAnswer<never> | undefined {
  const text = TEXTS[because];
  if (text === undefined) return undefined;
  const [status, error, hint] = text;
  const { approvers, via } = ballot.policy;
  const onCall = (approvers.onCall ?? []).map((schedule) => `on call ${schedule}`);
  const details = {
    not_here: [{ path: 'via', message: `possible: ${via.join(', ')}` }],
    not_named: [
      {
        path: 'approvers',
        message: `named: ${[...approvers.teams.map((team) => `team ${team}`), ...onCall, ...approvers.people].join(', ')}`,
      },
    ],
    own_request: [{ path: 'voter', message: ballot.requesters[voter.personId ?? ''] ?? 'is_in_the_owning_team' }],
  }[because as 'not_here' | 'not_named' | 'own_request'];
  return { ok: false, problem: { error, status, code: because, hint, ...(details === undefined ? {} : { details }) } };
}

/** Reads votes for people who look at an approval. The function that decides also says whether they may vote. */
export class VoteReads {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
  ) {}

  async read({
    tenantId,
    alertId,
    voter,
  }: {
    readonly tenantId: string;
    readonly alertId: string;
    readonly voter: VoterRef;
  }): Promise<CommandAnswer<ApprovalVotes>> {
    return this.db.transaction().execute(async (tx) => {
      const row = await lockAlert(tx, tenantId, alertId);
      if (row?.kind !== 'approval') return refusal(404, 'Approval not found');
      const now = this.now();
      const read = await readBallot(tx, row, now);
      const { ballot } = read;
      const eligible = countEligible(ballot, read.people);
      const answer = judgeVote(ballot, voteFrom(read, { voter, verdict: 'approve', name: '', reason: null }, now));
      const names = await readNames(
        tx,
        tenantId,
        read.votes.flatMap(({ stands_in_for: ids }) => ids ?? []),
      );
      const votes = read.votes.map(
        (vote): ApprovalVote => ({
          ...{ voter: vote.voter, name: vote.name, verdict: vote.verdict, at: vote.at, via: vote.via },
          ...(vote.stands_in_for === null ? {} : { standsInFor: findNamed(names, vote) }),
          counts: counts(read, vote.voter),
        }),
      );
      const quorum = ballot.policy.mode === 'report' ? 1 : ballot.policy.quorum;
      const approvals = countApprovals(read);
      return {
        ok: true,
        value: {
          ...{ alertId, quorum, votes, eligible, needs: Math.max(0, quorum - approvals) },
          policy: row.policy === null ? null : AppliedPolicy.parse(row.policy).policy,
          unreachable: ballot.state === 'open' && row.policy !== null && eligible < quorum,
          awaited: await readAwaited(tx, tenantId, read),
          mayVote: answer.kind !== 'refused',
          ...(answer.kind === 'refused' ? explainRefusal(answer.because, read, voter) : {}),
        },
      };
    });
  }
}

/** People whose approval would bring the decision closer. */
async function readAwaited(
  tx: Transaction<Tables>,
  tenantId: string,
  { ballot, people, votes, schedules }: ReadBallot,
): Promise<ApprovalVotes['awaited']> {
  const voted = new Set(votes.map(({ voter }) => voter));
  const approving = findApproving(ballot).filter(({ isPerson }) => isPerson);
  const counted = countEligible(ballot, approving);
  const ids = people
    .filter((one) => !voted.has(one.id) && countEligible(ballot, [...approving, one]) > counted)
    .map(({ id }) => id);
  if (ballot.state !== 'open' || ids.length === 0) return [];
  const rows = await tx
    .selectFrom('people')
    .select(['person_id as person', 'name'])
    .where('tenant_id', '=', tenantId)
    .where('person_id', 'in', ids)
    .orderBy('name')
    .orderBy('person_id')
    .limit(MAX_AWAITED)
    .execute();
  const onCall = new Map(people.map((one) => [one.id, one.onCall ?? []]));
  return rows.map((one) => {
    const names = (onCall.get(one.person) ?? []).flatMap((id) => schedules.get(id) ?? []);
    return names.length === 0 ? one : { ...one, onCall: names };
  });
}

/** Why a person may not decide a call, for that person. */
const EXCLUSIONS: Readonly<Record<string, string>> = {
  is_the_end_user: 'The run works for you, so another person decides',
  changed_the_rule: 'You changed the rule within 24 hours before the call, so another person decides',
  changed_the_schedule: 'You changed the on-call schedule within 24 hours, so another person decides',
  changed_the_policy: 'You changed the policy within 24 hours before the call, so another person decides',
  is_in_the_owning_team: 'Your team owns the agent, so a person of another team decides',
};

function explainRefusal(because: VoteRefusal, { ballot }: ReadBallot, { personId = '' }: VoterRef) {
  const excluded =
    because === 'own_request' ? EXCLUSIONS[ballot.requesters[personId] ?? 'is_in_the_owning_team'] : undefined;
  const explanation = excluded ?? TEXTS[because]?.[1];
  return { because, ...(explanation === undefined ? {} : { explanation }) };
}

function findApproving({ votes }: ReadBallot['ballot']) {
  return votes.filter(({ verdict }) => verdict === 'approve').map(({ voter }) => voter);
}

/** Approvals that count together: a person and a deputy of that person are one. */
function countApprovals({ ballot }: ReadBallot): number {
  const approving = findApproving(ballot);
  const programs = approving.filter(({ isPerson }) => !isPerson).length;
  return (
    programs +
    countEligible(
      ballot,
      approving.filter(({ isPerson }) => isPerson),
    )
  );
}

function counts({ ballot }: ReadBallot, voter: string): boolean {
  const stored = ballot.votes.find((one) => one.voter.id === voter);
  return stored !== undefined && (!stored.voter.isPerson || countEligible(ballot, [stored.voter]) === 1);
}

/** Text of `decidedBy`: everyone whose vote counted. */
export function decidedBy(names: readonly string[]): string {
  return cleanText([...new Set(names)].join('; '), 300);
}
