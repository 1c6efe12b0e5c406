import {
  AppliedPolicy,
  ApprovalBinding,
  type ApprovalPolicy,
  DAY_MS,
  findRolesWith,
  OnCallLayer,
  type VoterRef,
} from '@agentlens/contracts';
import type { ApprovalVotesTable, Tables } from '@agentlens/database';
import { globMatches } from '@agentlens/guardrails/names';
import { type Ballot, choosePolicy, DEFAULT_POLICY, onCallAt, type Voter } from '@agentlens/people';
import { type Selectable, sql, type Transaction } from 'kysely';
import { type AlertRow, hasLapsed, isOpen } from '../alerts/alerts.repository.ts';
import { cutOf } from '../alerts/approval-calls.ts';

type Tx = Transaction<Tables>;

/** An author of a policy or rule may not approve under it for this long. */
const AUTHOR_MS = DAY_MS;
const ROLES_THAT_REVIEW = findRolesWith('review');

export type VoteRow = Selectable<ApprovalVotesTable>;

/** Everything that a vote is judged by, read under the row lock of the approval. */
export interface ReadBallot {
  readonly ballot: Ballot;
  readonly votes: readonly VoteRow[];
  /** People of the tenant who may review or belong to a named team. */
  readonly people: readonly Voter[];
  /** Names of the on-call schedules that the policy names, by id. */
  readonly schedules: ReadonlyMap<string, string>;
}

/** Reads the ballot of an approval. Roles, teams and states are those of this moment. */
export async function readBallot(tx: Tx, row: AlertRow, now: number): Promise<ReadBallot> {
  const { tenant_id: tenantId } = row;
  const votes = await tx
    .selectFrom('approval_votes')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('alert_id', '=', row.alert_id)
    .orderBy('at')
    .orderBy('voter')
    .execute();
  const policy = row.policy === null ? DEFAULT_POLICY : AppliedPolicy.parse(row.policy).policy;
  const onCall = await readOnCall(tx, row, policy, now);
  const people = await readPeople(tx, tenantId, now, onCall.people);
  const byId = new Map(people.map((one) => [one.id, one]));
  const ballot: Ballot = {
    kind: row.kind,
    state: stateOf(row, now),
    version: row.version,
    agentId: row.agent_id,
    callHash: row.approval === null ? '' : ApprovalBinding.parse(row.approval).argsHash,
    isCut: (await cutOf(tx, row)) !== null,
    policy,
    requesters: { ...onCall.authors, ...(row.requesters as Record<string, string> | null) },
    owners: policy.separation === 'owner' ? await readOwners(tx, row) : [],
    votes: votes.map(({ voter, is_person, verdict }) => ({
      voter: is_person ? (byId.get(voter) ?? unknownPerson(voter)) : programKey(voter, false),
      verdict,
    })),
  };
  return { ballot, votes, people, schedules: onCall.schedules };
}

/** Finds the voter that a request names. A person who is not known has no rights. */
export function findVoter({ people }: Pick<ReadBallot, 'people'>, { personId, keyId, isAgent }: VoterRef): Voter {
  if (personId === undefined) return programKey(keyId, isAgent);
  return people.find(({ id }) => id === personId) ?? unknownPerson(personId);
}

/** How a new approval is opened. */
interface Opening {
  /** The call and the rules that the approval is for. */
  readonly binding: ApprovalBinding;
  /** Undefined: no policy matches. */
  readonly policy?: AppliedPolicy;
  /** Why people may not decide it, by person. */
  readonly requesters?: Readonly<Record<string, string>>;
}

/**
 * The policy that applies to a new approval, and who may not decide it. Rules that ask together share an approval only
 * if the same policy applies to them: otherwise the votes that satisfy one would satisfy the other, too.
 */
export async function readOpening(
  tx: Tx,
  tenantId: string,
  agentId: string,
  binding: ApprovalBinding,
  now: number,
): Promise<Opening> {
  const rows = await tx
    .selectFrom('approval_policies')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('place')
    .orderBy('policy_id')
    .execute();
  if (rows.length === 0) return { binding };
  const policies = rows.map((row) =>
    AppliedPolicy.parse({ id: row.policy_id, version: row.version, policy: row.body }),
  );
  const { runId, toolName, ruleId, also = [] } = binding;
  const policyFor = (rule: string) => choosePolicy(policies, { agentId, toolName, ruleId: rule });
  const policy = policyFor(ruleId);
  const shared = also.filter((one) => policyFor(one.ruleId)?.id === policy?.id);
  const covered = { ...binding, also: shared.length === 0 ? undefined : shared };
  if (policy === undefined) return { binding: covered };
  const since = new Date(now - AUTHOR_MS).toISOString();
  const rules = [ruleId, ...shared.map((one) => one.ruleId)];
  const { rows: excluded } = await sql<{ readonly person: string; readonly because: string }>`
    select i.person_id as person, 'is_the_end_user' as because
      from runs r join person_identities i on i.tenant_id = r.tenant_id and i.subject = r.actor_id
      where r.tenant_id = ${tenantId} and r.run_id = ${runId}
    union all
    select p.person_id, 'is_the_end_user' from runs r join people p
      on p.tenant_id = r.tenant_id and p.email_verified and lower(p.email) = lower(r.actor_id)
      where r.tenant_id = ${tenantId} and r.run_id = ${runId}
    union all
    select person_id, 'changed_the_rule' from audit_entries
      where tenant_id = ${tenantId} and target = 'rule' and target_id = any(${rules}) and person_id is not null and at > ${since}
    union all
    select person_id, 'changed_the_policy' from audit_entries
      where tenant_id = ${tenantId} and target = 'approval_policy' and target_id = ${policy.id} and person_id is not null
        and at > ${since}
  `.execute(tx);
  const requesters = Object.fromEntries(excluded.map(({ person, because }) => [person, because]));
  return { binding: covered, policy, requesters };
}

function stateOf(row: AlertRow, now: number): Ballot['state'] {
  if (hasLapsed(row, now)) return 'lapsed';
  return isOpen(row) ? 'open' : 'decided';
}

function programKey(id: string, isAgent: boolean): Voter {
  return { id, isPerson: false, isAgent, isDisabled: false, reviews: 'all', teams: [] };
}

function unknownPerson(id: string): Voter {
  return { id, isPerson: true, isAgent: false, isDisabled: true, reviews: [], teams: [] };
}

interface PersonFacts {
  readonly id: string;
  /** Verified, in lower case. */
  readonly email: string | null;
  readonly disabled: boolean;
  readonly all: boolean;
  readonly agents: readonly string[] | null;
  readonly teams: readonly string[] | null;
}

/** What the schedules of a policy say about an approval. */
interface ReadOnCall {
  /** Schedules on which a person was on call at the opening, or is now. */
  readonly people: ReadonlyMap<string, readonly string[]>;
  readonly schedules: ReadonlyMap<string, string>;
  /** People who changed one of the schedules within 24 hours, so that none of them comes on call to decide alone. */
  readonly authors: Readonly<Record<string, string>>;
}

const NOBODY_ON_CALL: ReadOnCall = { people: new Map(), schedules: new Map(), authors: {} };

async function readOnCall(tx: Tx, row: AlertRow, policy: ApprovalPolicy, now: number): Promise<ReadOnCall> {
  const { onCall: ids = [] } = policy.approvers;
  if (ids.length === 0) return NOBODY_ON_CALL;
  const { tenant_id: tenantId } = row;
  const schedules = await tx
    .selectFrom('on_call_schedules')
    .select(['schedule_id as id', 'name', 'layers'])
    .where('tenant_id', '=', tenantId)
    .where('schedule_id', 'in', ids)
    .execute();
  const overrides = await tx
    .selectFrom('on_call_overrides')
    .select(['schedule_id', 'override_id as id', 'person_id as person', 'starts_at as from', 'ends_at as to'])
    .where('tenant_id', '=', tenantId)
    .where('schedule_id', 'in', ids)
    // An override that ended before the opening says nothing about this approval.
    .where('ends_at', '>', row.created_at)
    .orderBy('override_id')
    .execute();
  const shifts = schedules.flatMap(({ id, name, layers }) => {
    const own = overrides.filter(({ schedule_id }) => schedule_id === id);
    const schedule = { name, layers: OnCallLayer.array().parse(layers), overrides: own };
    const people = [Date.parse(row.created_at), now].map((atMs) => onCallAt(schedule, atMs).person);
    return [...new Set(people)].flatMap((person) => (person === null ? [] : [{ person, id }]));
  });
  const byPerson = Map.groupBy(shifts, ({ person }) => person);
  const authors = await tx
    .selectFrom('audit_entries')
    .select('person_id')
    .distinct()
    .where('tenant_id', '=', tenantId)
    .where('target', '=', 'on_call')
    .where('target_id', 'in', ids)
    .where('person_id', 'is not', null)
    .where('at', '>', new Date(now - AUTHOR_MS).toISOString())
    .execute();
  return {
    people: new Map([...byPerson].map(([person, own]) => [person, own.map(({ id }) => id)])),
    schedules: new Map(schedules.map(({ id, name }) => [id, name])),
    authors: Object.fromEntries(authors.map(({ person_id }) => [person_id, 'changed_the_schedule'])),
  };
}

async function readPeople(tx: Tx, tenantId: string, now: number, onCall: ReadOnCall['people']): Promise<Voter[]> {
  const at = new Date(now).toISOString();
  const { rows } = await sql<PersonFacts>`
    select p.person_id as id, p.state = 'disabled' as disabled,
      case when p.email_verified then lower(nullif(p.email, '')) end as email,
      coalesce(bool_or(g.role is not null and g.team_id = ''), false) as all,
      (select array_agg(distinct pattern) from person_grants tg join teams t using (tenant_id, team_id), unnest(t.agents) as pattern
        where tg.tenant_id = p.tenant_id and tg.person_id = p.person_id and tg.team_id <> '' and tg.role = any(${ROLES_THAT_REVIEW})
          and (tg.source = 'manual' or p.claims_until > ${at})) as agents,
      (select array_agg(distinct m.team_id) from team_members m
        where m.tenant_id = p.tenant_id and m.person_id = p.person_id
          and (m.source = 'manual' or p.claims_until > ${at})) as teams
    from people p left join person_grants g on g.tenant_id = p.tenant_id and g.person_id = p.person_id
      and g.role = any(${ROLES_THAT_REVIEW}) and (g.source = 'manual' or p.claims_until > ${at})
    where p.tenant_id = ${tenantId}
    group by p.tenant_id, p.person_id, p.state, p.claims_until, p.email, p.email_verified
  `.execute(tx);
  const accounts = Map.groupBy(rows, ({ email }) => email);
  const people = rows.map(({ id, email, disabled, all, agents, teams }): Voter => {
    const others = email === null ? [] : (accounts.get(email) ?? []).filter((one) => one.id !== id);
    return {
      ...{ id, isPerson: true, isAgent: false, isDisabled: disabled },
      ...{ reviews: all ? ('all' as const) : (agents ?? []), teams: teams ?? [] },
      ...(onCall.has(id) ? { onCall: onCall.get(id) ?? [] } : {}),
      ...(others.length === 0 ? {} : { otherAccounts: others.map((one) => one.id) }),
    };
  });
  return addPrincipals(tx, tenantId, people, at);
}

/** Adds to each deputy the people who have named them for this moment. */
async function addPrincipals(tx: Tx, tenantId: string, people: readonly Voter[], at: string): Promise<Voter[]> {
  const named = await tx
    .selectFrom('deputies')
    .select(['person_id', 'deputy_id'])
    .where('tenant_id', '=', tenantId)
    .where('starts_at', '<=', at)
    .where('ends_at', '>', at)
    .orderBy('person_id')
    .execute();
  if (named.length === 0) return [...people];
  const byId = new Map(people.map((one) => [one.id, one]));
  const byDeputy = Map.groupBy(named, ({ deputy_id }) => deputy_id);
  return people.map((one) => {
    const standsInFor = (byDeputy.get(one.id) ?? []).flatMap(({ person_id }) => byId.get(person_id) ?? []);
    return standsInFor.length === 0 ? one : { ...one, standsInFor };
  });
}

/** Names of people by id. */
export async function readNames(tx: Tx, tenantId: string, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await tx
    .selectFrom('people')
    .select(['person_id', 'name'])
    .where('tenant_id', '=', tenantId)
    .where('person_id', 'in', [...new Set(ids)])
    .execute();
  return new Map(rows.map(({ person_id, name }) => [person_id, name]));
}

/** Members of the teams that own the agent. */
async function readOwners(tx: Tx, { tenant_id: tenantId, agent_id: agentId }: AlertRow): Promise<string[]> {
  const { rows } = await sql<{ readonly person: string; readonly patterns: readonly string[] }>`
    select m.person_id as person, t.agents as patterns from teams t join team_members m using (tenant_id, team_id)
    where t.tenant_id = ${tenantId} and cardinality(t.agents) > 0
  `.execute(tx);
  return rows.filter(({ patterns }) => patterns.some((glob) => globMatches(glob, agentId))).map(({ person }) => person);
}
