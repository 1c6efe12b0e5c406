import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';
import { type AppliedPolicy, type ApprovalPolicy, SEPARATIONS, WAYS } from '@agentlens/contracts';
import { globMatches } from '@agentlens/guardrails/names';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ballot, HASH, policy } from './ballot.testing.ts';
import type { Ballot, Vote, VoteAnswer, VoteRefusal, Voter } from './judge-vote.ts';
import * as decisions from './judge-vote.ts';
import { countSeats } from './seats.ts';

type Decisions = Pick<typeof decisions, 'judgeVote' | 'countEligible' | 'choosePolicy'>;

const SOURCE = readFileSync(join(import.meta.dirname, 'judge-vote.ts'), 'utf8');
/** Types and the default policy come first. */
const START = SOURCE.indexOf('const VOTER_LINES');

/** What a slip of the hand could make of a line. `$&` is what was there. */
const SLIPS: readonly (readonly [what: RegExp, becomes: string])[] = [
  [/===/g, '!=='],
  [/ >= /g, ' > '],
  [/ <= /g, ' < '],
  [/ > (?=\d)/g, ' >= '],
  [/ < /g, ' <= '],
  [/ && /g, ' || '],
  [/ \|\| /g, ' && '],
  [/!(?=[a-z])/g, ''],
  [/\.some\(/g, '.every('],
  [/\? ([\w.'[\]]+(?:\([^()]*\))?) : ('?[\w.]+'?(?:\([^()]*\))?)/g, '? $2 : $1'],
  [/'(?:approve|approval|deny|none|owner|lapsed|decided|enforce|all|open)'/g, "'mutant'"],
  [/(?<=[=>] )\d/g, '7'],
  [/(?<=\? )'[a-z_]+'|(?<=: )'[a-z_]+'(?=[),\n])/g, 'undefined'],
];

interface Mutant {
  readonly title: string;
  readonly source: string;
}

/** Every slip at every place, one at a time. */
function makeMutants(): Mutant[] {
  const found = SLIPS.flatMap(([what, becomes]) =>
    [...SOURCE.matchAll(what)]
      .filter(({ index }) => index > START && !isInComment(index))
      .map((match) => {
        const changed = match[0].replace(new RegExp(what.source), becomes);
        const source = SOURCE.slice(0, match.index) + changed + SOURCE.slice(match.index + match[0].length);
        const line = SOURCE.slice(0, match.index).split('\n').length;
        return { title: `line ${line}: ${(source.split('\n')[line - 1] ?? '').trim()}`, source };
      }),
  );
  return found.filter(({ source }) => source !== SOURCE);
}

function isInComment(index: number): boolean {
  const line = SOURCE.slice(SOURCE.lastIndexOf('\n', index) + 1, index).trimStart();
  return line.startsWith('*') || line.startsWith('/');
}

function load(source: string): Decisions {
  const code = stripTypeScriptTypes(source)
    .replaceAll(/^import .*$/gm, '')
    .replaceAll(/^export /gm, '');
  const made: unknown = compileFunction(`${code}\nreturn { judgeVote, countEligible, choosePolicy };`, [
    'globMatches',
    'countSeats',
  ])(globMatches, countSeats);
  return made as Decisions;
}

/** The rules of a vote, written down again from the design: the first that fails is the answer. */
function expectAnswer(of: Ballot, by: Vote): VoteAnswer {
  const refused = expectRefusal(of, by);
  if (of.policy.mode === 'report') {
    const { freshSignInSeconds: _, ...rules } = of.policy;
    const open: ApprovalPolicy = {
      ...{ ...rules, mode: 'enforce', approvers: { teams: [], people: [], anyone: true }, quorum: 1 },
      ...{ separation: 'none', via: [...WAYS] },
    };
    const answer = expectAnswer({ ...of, policy: open }, by);
    return answer.kind === 'counted' && refused !== undefined ? { ...answer, wouldRefuse: refused } : answer;
  }
  if (refused !== undefined) return { kind: 'refused', because: refused };
  const votes = new Map(of.votes.map((one) => [one.voter.id, one]));
  const isAgain = votes.has(by.voter.id);
  votes.set(by.voter.id, by);
  const approving = [...votes.values()].filter(({ verdict }) => verdict === 'approve').map(({ voter }) => voter);
  const approvals = expectPlaces(
    of,
    approving.filter((voter) => expectVoterRefusal(of, voter) === undefined),
  );
  if (by.verdict === 'deny') return { kind: 'counted', outcome: 'denied', approvals };
  if (approvals >= of.policy.quorum) return { kind: 'counted', outcome: 'approved', approvals };
  return isAgain ? { kind: 'unchanged', approvals } : { kind: 'counted', outcome: 'open', approvals };
}

function expectRefusal(of: Ballot, by: Vote): VoteRefusal | undefined {
  const { freshSignInSeconds: limit } = of.policy;
  const stale = limit !== undefined && (by.signedInSecondsAgo === undefined || by.signedInSecondsAgo > limit);
  const order: readonly (readonly [boolean, VoteRefusal])[] = [
    [of.kind !== 'approval', 'not_an_approval'],
    [of.state === 'lapsed', 'expired'],
    [of.state === 'decided', 'decided'],
    [by.ifVersion !== undefined && by.ifVersion !== of.version, 'other_version'],
    [by.callHash !== undefined && by.callHash !== of.callHash, 'other_call'],
    [by.voter.isAgent, 'agent_key'],
    [by.voter.isDisabled, 'disabled'],
    [!of.policy.via.includes(by.via), 'not_here'],
    [stale, 'sign_in_again'],
  ];
  const before = order.find(([applies]) => applies)?.[1] ?? expectVoterRefusal(of, by.voter);
  if (before !== undefined) return before;
  if (by.verdict === 'deny') return undefined;
  if (of.isCut) return 'call_not_whole';
  return of.votes.some((one) => one.voter.id === by.voter.id && one.verdict === 'deny') ? 'denied_before' : undefined;
}

/** How many of them count at once: each fills one place, the voter's own or that of a person who named a deputy. */
function expectPlaces(of: Ballot, [first, ...others]: readonly Voter[], filled: readonly string[] = []): number {
  if (first === undefined) return 0;
  const places = isNamedItself(of, first)
    ? [placeOf(first)]
    : (first.standsInFor ?? []).filter((one) => expectOwnRefusal(of, one) === undefined).map(placeOf);
  const free = places.filter((place) => !filled.includes(place));
  return Math.max(
    expectPlaces(of, others, filled),
    ...free.map((place) => 1 + expectPlaces(of, others, [...filled, place])),
  );
}

/** Two accounts of one human being have the same. */
const placeOf = ({ id, otherAccounts = [] }: Voter) => JSON.stringify([id, ...otherAccounts].toSorted());

function isNamedItself({ policy: { approvers } }: Ballot, voter: Voter): boolean {
  const inTeam = voter.teams.some((team) => approvers.teams.includes(team));
  const isOnCall = voter.onCall?.some((schedule) => approvers.onCall?.includes(schedule)) ?? false;
  return approvers.anyone || (voter.isPerson && (approvers.people.includes(voter.id) || inTeam || isOnCall));
}

function expectOwnRefusal(of: Ballot, voter: Voter) {
  return expectVoterRefusal(of, { ...voter, standsInFor: [] });
}

function expectVoterRefusal(of: Ballot, voter: Voter): VoteRefusal | undefined {
  const { policy: rules, agentId, requesters, owners } = of;
  if (voter.isAgent) return 'agent_key';
  if (voter.isDisabled) return 'disabled';
  if (voter.reviews !== 'all' && !voter.reviews.some((glob) => globMatches(glob, agentId))) return 'no_review';
  if (!isNamedItself(of, voter)) {
    const refused = (voter.standsInFor ?? []).map((one) => expectOwnRefusal(of, one));
    if (refused.every((because) => because !== undefined))
      return refused.includes('own_request') ? 'stands_in_for_the_requester' : 'not_named';
  }
  if (rules.quorum > 1 && !voter.isPerson) return 'people_only';
  if (rules.separation === 'none') return undefined;
  const accounts = [voter.id, ...(voter.otherAccounts ?? [])];
  if (accounts.some((id) => id in requesters)) return 'own_request';
  return rules.separation === 'owner' && accounts.some((id) => owners.includes(id)) ? 'own_request' : undefined;
}

const Id = fc.constantFrom('ann', 'ben', 'cem', 'dia');
/** Mostly people who may vote, so that later lines are reached. */
const AnyPerson = fc.record({
  id: Id,
  isPerson: fc.constantFrom(true, true, true, false),
  isAgent: fc.constantFrom(false, false, false, false, true),
  isDisabled: fc.constantFrom(false, false, false, false, true),
  reviews: fc.constantFrom<Voter['reviews'][]>('all', 'all', ['billing-*', 'other'], ['other'], []),
  teams: fc.subarray(['finance', 'sales', 'legal']),
  onCall: fc.constantFrom<(string[] | undefined)[]>(undefined, [], ['platform'], ['platform', 'network'], ['billing']),
});
/** Ann and Ben may be the same human being. */
const withAccounts = (person: Voter, areOne: boolean): Voter =>
  areOne && ['ann', 'ben'].includes(person.id)
    ? { ...person, otherAccounts: [person.id === 'ann' ? 'ben' : 'ann'] }
    : person;
const AnyVoter: fc.Arbitrary<Voter> = fc
  .tuple(AnyPerson, fc.uniqueArray(AnyPerson, { selector: ({ id }) => id, maxLength: 2 }), fc.boolean())
  .map(([voter, others, areOne]) => ({
    ...withAccounts(voter, areOne),
    standsInFor: others.filter(({ id }) => id !== voter.id).map((one) => withAccounts(one, areOne)),
  }));
const AnyPolicy = fc.record(
  {
    name: fc.constant('any'),
    match: fc.constant<ApprovalPolicy['match']>({ tools: [], agents: [], rules: [] }),
    approvers: fc.record({
      teams: fc.subarray(['finance', 'legal']),
      people: fc.subarray(['ann', 'ben']),
      onCall: fc.constantFrom(undefined, undefined, ['platform'], ['network'], ['platform', 'network']),
      anyone: fc.boolean(),
    }),
    quorum: fc.integer({ min: 1, max: 3 }),
    separation: fc.constantFrom(...SEPARATIONS),
    via: fc.constantFrom([...WAYS], [...WAYS], [...WAYS], ['console'] as const),
    freshSignInSeconds: fc.constantFrom(60, 900),
    mode: fc.constantFrom('enforce', 'enforce', 'enforce', 'report'),
  },
  { requiredKeys: ['name', 'match', 'approvers', 'quorum', 'separation', 'via', 'mode'] },
) as fc.Arbitrary<ApprovalPolicy>;
const AnyBallot: fc.Arbitrary<Ballot> = fc
  .record({
    kind: fc.constantFrom('approval', 'approval', 'approval', 'approval', 'rule'),
    state: fc.constantFrom<Ballot['state'][]>('open', 'open', 'open', 'open', 'lapsed', 'decided'),
    version: fc.integer({ min: 1, max: 2 }),
    isCut: fc.constantFrom(false, false, false, true),
    policy: AnyPolicy,
    requesters: fc.dictionary(Id, fc.constant('is_the_end_user'), { maxKeys: 1 }),
    owners: fc.subarray(['ann', 'cem'], { maxLength: 1 }),
    votes: fc.uniqueArray(
      fc.record({ voter: AnyVoter, verdict: fc.constantFrom('approve', 'approve', 'approve', 'deny') }),
      { selector: ({ voter }) => voter.id, maxLength: 3 },
    ),
  })
  .map((fields) => ballot(fields as Partial<Ballot>));
const AnyVote = fc.record(
  {
    voter: AnyVoter,
    verdict: fc.constantFrom('approve', 'approve', 'deny'),
    via: fc.constantFrom('console', 'console', 'cli', 'api'),
    signedInSecondsAgo: fc.constantFrom(10, 60, 61, 900, 901),
    ifVersion: fc.constantFrom(1, 1, 1, 2),
    callHash: fc.constantFrom(HASH, HASH, HASH, 'b'.repeat(64)),
  },
  { requiredKeys: ['voter', 'verdict', 'via'] },
) as fc.Arbitrary<Vote>;
const Names = fc.subarray(['pay_*', 'read']);
const AnyPolicies = fc.array(
  fc.record({ tools: Names, agents: fc.subarray(['billing-*', 'bot']), rules: fc.subarray(['rule-1', 'rule-2']) }),
  { maxLength: 3 },
);
const AnyCall = fc.record({
  toolName: fc.constantFrom('pay_invoice', 'read', 'write'),
  agentId: fc.constantFrom('billing-1', 'bot', 'other'),
  ruleId: fc.constantFrom('rule-1', 'rule-3'),
});

const CASES = 6_000;
const SEED = { seed: 62, numRuns: CASES };
const VOTES = fc.sample(fc.tuple(AnyBallot, AnyVote), SEED);
const CALLS = fc.sample(fc.tuple(AnyPolicies, AnyCall), { seed: 62, numRuns: 1_000 });

/** Returns the first case that is answered otherwise than the design says. */
function findDifference({ judgeVote, countEligible, choosePolicy }: Decisions): unknown {
  const vote = VOTES.find(([of, by]) => {
    if (JSON.stringify(judgeVote(of, by)) !== JSON.stringify(expectAnswer(of, by))) return true;
    const people = [by.voter, ...of.votes.map(({ voter }) => voter)];
    const able = people.filter((one) => expectVoterRefusal(of, one) === undefined);
    return countEligible(of, people) !== expectPlaces(of, able);
  });
  const call = CALLS.find(([matches, asked]) => {
    const all = matches.map((match, n): AppliedPolicy => ({ id: `${n}`, version: 1, policy: policy({ match }) }));
    const fits = (globs: readonly string[], name: string) =>
      globs.length === 0 || globs.some((glob) => globMatches(glob, name));
    const expected = all.find(
      ({ policy: { match } }) =>
        fits(match.tools, asked.toolName) && fits(match.agents, asked.agentId) && fits(match.rules, asked.ruleId),
    );
    return choosePolicy(all, asked)?.id !== expected?.id;
  });
  return vote ?? call;
}

/** True if a case is answered otherwise, or the mutant cannot answer it at all. */
function isKilled({ source }: Mutant): boolean {
  try {
    return findDifference(load(source)) !== undefined;
  } catch (error) {
    if (error instanceof SyntaxError) throw error;
    return true;
  }
}

describe('the function that decides votes', () => {
  it('answers any vote under any policy as the design says', () => {
    expect(findDifference(decisions)).toBeUndefined();
    const answers = new Set(VOTES.map(([of, by]) => JSON.stringify(expectAnswer(of, by)).slice(0, 60)));
    expect(answers.size).toBeGreaterThan(20);
  });

  it('has no line that could be changed without a case that fails', () => {
    // The way in which mutants are loaded changes nothing by itself.
    expect(findDifference(load(SOURCE))).toBeUndefined();
    const mutants = makeMutants();
    expect(mutants.length).toBeGreaterThan(40);
    expect(mutants.filter((mutant) => !isKilled(mutant)).map(({ title }) => title)).toEqual([]);
  });
});
