import type { AccessWay, AppliedPolicy, ApprovalPolicy } from '@agentlens/contracts';
import { globMatches } from '@agentlens/guardrails/names';
import { countSeats } from './seats.ts';

/** A voter as the platform knows them at this moment. */
export interface Voter {
  /** Id of the person, or of the key of a program. */
  readonly id: string;
  readonly isPerson: boolean;
  /** A key that reports for agents. */
  readonly isAgent: boolean;
  readonly isDisabled: boolean;
  /** Agents whose approvals this voter may review. */
  readonly reviews: 'all' | readonly string[];
  readonly teams: readonly string[];
  /** Schedules on which this person was on call when the approval opened, or is now. */
  readonly onCall?: readonly string[];
  /** Other people of the tenant with the same verified e-mail: a second account of the same human being. */
  readonly otherAccounts?: readonly string[];
  /** People whose deputy this person is now. Whom they stand in for does not matter: it does not chain. */
  readonly standsInFor?: readonly Voter[];
}

export interface StoredVote {
  readonly voter: Voter;
  readonly verdict: 'approve' | 'deny';
}

/** An approval with everything that a vote is judged by. */
export interface Ballot {
  readonly kind: string;
  readonly state: 'open' | 'lapsed' | 'decided';
  readonly version: number;
  readonly agentId: string;
  readonly callHash: string;
  /** A part of the call is missing. */
  readonly isCut: boolean;
  readonly policy: ApprovalPolicy;
  /** Why a person may not decide, by id: `started_the_run`, `is_the_end_user`, `changed_the_policy`. */
  readonly requesters: Readonly<Record<string, string>>;
  /** People in teams that own the agent. */
  readonly owners: readonly string[];
  readonly votes: readonly StoredVote[];
}

export interface Vote {
  readonly voter: Voter;
  readonly verdict: 'approve' | 'deny';
  readonly via: AccessWay;
  /** Absent for a key of a program. */
  readonly signedInSecondsAgo?: number | undefined;
  readonly ifVersion?: number | undefined;
  readonly callHash?: string | undefined;
}

/** Why a vote is refused. */
export type VoteRefusal =
  | 'not_an_approval'
  | 'expired'
  | 'decided'
  | 'other_version'
  | 'other_call'
  | 'agent_key'
  | 'disabled'
  | 'not_here'
  | 'sign_in_again'
  | 'no_review'
  | 'not_named'
  | 'stands_in_for_the_requester'
  | 'people_only'
  | 'own_request'
  | 'call_not_whole'
  | 'denied_before';

export type VoteAnswer =
  | { readonly kind: 'refused'; readonly because: VoteRefusal }
  /** The same vote was cast before. */
  | { readonly kind: 'unchanged'; readonly approvals: number }
  | {
      readonly kind: 'counted';
      readonly outcome: 'approved' | 'denied' | 'open';
      readonly approvals: number;
      /** The refusal if the policy were enforced; only in report mode. */
      readonly wouldRefuse?: VoteRefusal;
    };

/** Applies where no policy matches: a caller who may review decides alone, as before there were policies. */
export const DEFAULT_POLICY: ApprovalPolicy = {
  name: 'Default',
  match: { tools: [], agents: [], rules: [] },
  approvers: { teams: [], people: [], anyone: true },
  quorum: 1,
  separation: 'none',
  via: ['console', 'cli', 'mcp', 'api', 'slack'],
  mode: 'enforce',
};

type Line = (ballot: Ballot, vote: Vote) => VoteRefusal | undefined;

/** A line that depends only on who votes. It is checked again for every stored vote when votes are counted. */
type VoterLine = (ballot: Ballot, voter: Voter) => VoteRefusal | undefined;

const VOTER_LINES = {
  agentKey: (_, { isAgent }) => (isAgent ? 'agent_key' : undefined),
  disabled: (_, { isDisabled }) => (isDisabled ? 'disabled' : undefined),
  review: ({ agentId }, { reviews }) =>
    reviews === 'all' || reviews.some((glob) => globMatches(glob, agentId)) ? undefined : 'no_review',
  named: (ballot, voter) => {
    if (isNamed(ballot.policy, voter)) return undefined;
    const refusals = (voter.standsInFor ?? []).map((one) => refuseItself(ballot, one));
    if (refusals.includes(undefined)) return undefined;
    return refusals.includes('own_request') ? 'stands_in_for_the_requester' : 'not_named';
  },
  peopleOnly: ({ policy }, { isPerson }) => (policy.quorum > 1 && !isPerson ? 'people_only' : undefined),
  separation: ({ policy: { separation }, requesters, owners }, voter) => {
    if (separation === 'none') return undefined;
    const accounts = listAccounts(voter);
    const isOwner = separation === 'owner' && accounts.some((id) => owners.includes(id));
    return accounts.some((id) => Object.hasOwn(requesters, id)) || isOwner ? 'own_request' : undefined;
  },
} satisfies Record<string, VoterLine>;

const ofVoter =
  (line: VoterLine): Line =>
  (ballot, { voter }) =>
    line(ballot, voter);

/** The lines of a vote in order. The first that refuses is the answer. */
export const LINES = {
  kind: ({ kind }) => (kind === 'approval' ? undefined : 'not_an_approval'),
  lapsed: ({ state }) => (state === 'lapsed' ? 'expired' : undefined),
  decided: ({ state }) => (state === 'decided' ? 'decided' : undefined),
  version: ({ version }, { ifVersion = version }) => (ifVersion === version ? undefined : 'other_version'),
  callHash: (ballot, { callHash = ballot.callHash }) => (callHash === ballot.callHash ? undefined : 'other_call'),
  agentKey: ofVoter(VOTER_LINES.agentKey),
  disabled: ofVoter(VOTER_LINES.disabled),
  way: ({ policy }, { via }) => (policy.via.includes(via) ? undefined : 'not_here'),
  freshSignIn: ({ policy: { freshSignInSeconds: limit } }, { signedInSecondsAgo: age }) =>
    limit === undefined || (age !== undefined && age <= limit) ? undefined : 'sign_in_again',
  review: ofVoter(VOTER_LINES.review),
  named: ofVoter(VOTER_LINES.named),
  peopleOnly: ofVoter(VOTER_LINES.peopleOnly),
  separation: ofVoter(VOTER_LINES.separation),
  whole: ({ isCut }, { verdict }) => (isCut && verdict === 'approve' ? 'call_not_whole' : undefined),
  deniedBefore: ({ votes }, { voter, verdict }) =>
    verdict === 'approve' && votes.some((one) => one.voter.id === voter.id && one.verdict === 'deny')
      ? 'denied_before'
      : undefined,
} satisfies Record<string, Line>;

/**
 * Judges a vote. The only function that decides an approval: console, command line, MCP and API call it through the
 * same command, under the row lock of the approval.
 *
 * @param lines only for tests, which remove one line at a time
 */
export function judgeVote(ballot: Ballot, vote: Vote, lines: Readonly<Record<string, Line>> = LINES): VoteAnswer {
  const because = firstRefusal(ballot, vote, lines);
  if (ballot.policy.mode === 'enforce') {
    return because === undefined ? count(ballot, vote, lines) : { kind: 'refused', because };
  }
  const lenient = { ...ballot, policy: { ...DEFAULT_POLICY, name: ballot.policy.name } };
  const answer = judgeVote(lenient, vote, lines);
  return answer.kind === 'counted' && because !== undefined ? { ...answer, wouldRefuse: because } : answer;
}

/** Returns why the vote of this voter would not count, by any way. */
function findRefusal(
  ballot: Ballot,
  voter: Voter,
  lines: Readonly<Record<string, Line>> = LINES,
): VoteRefusal | undefined {
  const names = Object.keys(VOTER_LINES).filter((name) => name in lines);
  for (const name of names) {
    const because = VOTER_LINES[name as keyof typeof VOTER_LINES](ballot, voter);
    if (because !== undefined) return because;
  }
  return undefined;
}

/** Why the vote of this person would not count, leaving aside whom the person stands in for. */
function refuseItself(ballot: Ballot, voter: Voter): VoteRefusal | undefined {
  return findRefusal(ballot, { ...voter, standsInFor: [] });
}

/** The people in whose place this voter decides; empty if the policy names the voter. */
export function findPrincipals(ballot: Ballot, voter: Voter): readonly Voter[] {
  if (isNamed(ballot.policy, voter)) return [];
  return (voter.standsInFor ?? []).filter((one) => refuseItself(ballot, one) === undefined);
}

function listAccounts({ id, otherAccounts = [] }: Voter): readonly string[] {
  return [id, ...otherAccounts];
}

/** The place of a human being, the same for each account. */
function findPlace(voter: Voter): string {
  return listAccounts(voter).toSorted().join(' ');
}

/** How many of these voters count: a person, a deputy of that person, and another account of the person are one. */
function countVoters(ballot: Ballot, voters: readonly Voter[]): number {
  return countSeats(
    voters.map((voter) => {
      const principals = findPrincipals(ballot, voter).map(findPlace);
      return { id: voter.id, seats: principals.length === 0 ? [findPlace(voter)] : principals };
    }),
  );
}

function firstRefusal(ballot: Ballot, vote: Vote, lines: Readonly<Record<string, Line>>): VoteRefusal | undefined {
  for (const line of Object.values(lines)) {
    const because = line(ballot, vote);
    if (because !== undefined) return because;
  }
  return undefined;
}

/** One denial decides. Otherwise those approvals count whose voters may still decide, each person's place once. */
function count(ballot: Ballot, { voter, verdict }: Vote, lines: Readonly<Record<string, Line>>): VoteAnswer {
  const others = ballot.votes.filter((one) => one.voter.id !== voter.id);
  const approving = [...others, { voter, verdict }].filter((one) => one.verdict === 'approve');
  const counting = approving.filter((one) => findRefusal(ballot, one.voter, lines) === undefined);
  const approvals = countVoters(
    ballot,
    counting.map((one) => one.voter),
  );
  if (verdict === 'deny') return { kind: 'counted', outcome: 'denied', approvals };
  const outcome = approvals >= ballot.policy.quorum ? 'approved' : 'open';
  const isSame = others.length < ballot.votes.length;
  return outcome === 'open' && isSame ? { kind: 'unchanged', approvals } : { kind: 'counted', outcome, approvals };
}

function isNamed({ approvers }: ApprovalPolicy, { id, isPerson, teams, onCall = [] }: Voter): boolean {
  if (approvers.anyone) return true;
  const isMember = approvers.teams.some((team) => teams.includes(team));
  const isOnCall = (approvers.onCall ?? []).some((schedule) => onCall.includes(schedule));
  return isPerson && (approvers.people.includes(id) || isMember || isOnCall);
}

/** Counts the people whose approvals would count together now. Fewer than the quorum: the call cannot be approved. */
export function countEligible(ballot: Ballot, people: readonly Voter[]): number {
  return countVoters(
    ballot,
    people.filter((voter) => findRefusal(ballot, voter) === undefined),
  );
}

interface CallToDecide {
  readonly agentId: string;
  readonly toolName: string;
  readonly ruleId: string;
}

/** Returns the first policy that matches the call. */
export function choosePolicy(policies: readonly AppliedPolicy[], call: CallToDecide): AppliedPolicy | undefined {
  return policies.find(({ policy: { match } }) => {
    const { tools, agents, rules } = match;
    return (
      (tools.length === 0 || tools.some((glob) => globMatches(glob, call.toolName))) &&
      (agents.length === 0 || agents.some((glob) => globMatches(glob, call.agentId))) &&
      (rules.length === 0 || rules.includes(call.ruleId))
    );
  });
}
