import type { ChangeAuthor } from '@agentlens/contracts';
import { type Database, lockUntilEnd, recordChanges, type Tables } from '@agentlens/database';
import type { TeamView } from '@agentlens/operations';
import { type Clock, ProblemException, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, sql, type Transaction } from 'kysely';
import { requireVersion } from '../http/tenant-reads.ts';
import { PersonKeys } from './person-keys.ts';

interface TeamChange {
  readonly tenantId: string;
  readonly author: ChangeAuthor;
  readonly ifVersion?: number | undefined;
}

interface TeamDraft {
  readonly name: string;
  readonly agents: readonly string[];
  readonly members: readonly string[];
}

const MAX_TEAMS = 200;

/** Teams, their members and the agents that they own. This service is their only writer. */
@Injectable()
export class Teams {
  constructor(
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
    private readonly keys: PersonKeys,
  ) {}

  async list(tenantId: string): Promise<TeamView[]> {
    const rows = await viewRows(this.database.db, tenantId).orderBy('team_id').execute();
    return rows.map(viewFromRow);
  }

  async set(id: string, draft: TeamDraft, { tenantId, author, ifVersion }: TeamChange): Promise<TeamView> {
    const at = new Date(this.clock.now()).toISOString();
    const { team, members } = await this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'teams', tenantId);
      const stored = await viewRows(tx, tenantId).execute();
      const before = stored.find(({ team_id }) => team_id === id);
      requireVersion('team', ifVersion, before?.version ?? 0);
      if (before === undefined && stored.length >= MAX_TEAMS)
        throw new ProblemException(422, `A tenant has at most ${MAX_TEAMS} teams`);
      await requirePeople(tx, tenantId, draft.members);
      const values = { name: draft.name, agents: [...draft.agents], version: (before?.version ?? 0) + 1 };
      await tx
        .insertInto('teams')
        .values({ tenant_id: tenantId, team_id: id, created_at: at, ...values })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'team_id']).doUpdateSet(values))
        .execute();
      await tx
        .deleteFrom('team_members')
        .where('tenant_id', '=', tenantId)
        .where('team_id', '=', id)
        .where('source', '=', 'manual')
        .execute();
      const added = [...new Set(draft.members)].map((person) => ({
        tenant_id: tenantId,
        team_id: id,
        person_id: person,
        source: 'manual' as const,
      }));
      if (added.length > 0) await tx.insertInto('team_members').values(added).execute();
      const row = await viewRows(tx, tenantId).where('team_id', '=', id).executeTakeFirstOrThrow();
      const change = { tenantId, at, kind: 'team.set', targetId: id, author } as const;
      const after = viewFromRow(row);
      await recordChanges(tx, [{ ...change, before: before && viewFromRow(before), after }]);
      const changed = [...(before?.members ?? []), ...row.members].map(({ person }) => person);
      return { team: after, members: [...new Set(changed)] };
    });
    for (const member of members) await this.keys.announce(tenantId, await this.keys.idsOf(tenantId, member));
    return team;
  }

  /** Returns false if there is no such team. @throws ProblemException 409 if something names it */
  async delete(id: string, { tenantId, author }: TeamChange): Promise<boolean> {
    const at = new Date(this.clock.now()).toISOString();
    return this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'teams', tenantId);
      const before = await viewRows(tx, tenantId).where('team_id', '=', id).executeTakeFirst();
      if (before === undefined) return false;
      const users = await usersOf(tx, tenantId, id);
      if (users.length > 0) {
        throw new ProblemException(409, 'This team is in use', {
          details: users.map((message) => ({ path: 'id', message })),
        });
      }
      for (const table of ['teams', 'team_members', 'person_grants'] as const) {
        await tx.deleteFrom(table).where('tenant_id', '=', tenantId).where('team_id', '=', id).execute();
      }
      await recordChanges(tx, [
        { tenantId, at, kind: 'team.deleted', targetId: id, author, before: viewFromRow(before) },
      ]);
      return true;
    });
  }
}

async function usersOf(tx: Transaction<Tables>, tenantId: string, team: string): Promise<string[]> {
  const policies = await tx
    .selectFrom('approval_policies')
    .select(sql<string>`body->>'name'`.as('name'))
    .where('tenant_id', '=', tenantId)
    .where(sql<boolean>`body->'approvers'->'teams' ? ${team}`)
    .execute();
  const providers = await tx
    .selectFrom('identity_providers')
    .select(sql<string>`settings->>'name'`.as('name'))
    .where('tenant_id', '=', tenantId)
    .where(sql<boolean>`settings->'mapping' @> ${JSON.stringify([{ team }])}::jsonb`)
    .execute();
  return [
    ...policies.map(({ name }) => `the approval policy "${name}" names it`),
    ...providers.map(({ name }) => `the mapping of the identity provider "${name}" names it`),
  ];
}

async function requirePeople(tx: Transaction<Tables>, tenantId: string, members: readonly string[]): Promise<void> {
  if (members.length === 0) return;
  const rows = await tx
    .selectFrom('people')
    .select('person_id')
    .where('tenant_id', '=', tenantId)
    .where('person_id', 'in', members)
    .execute();
  const known = new Set(rows.map(({ person_id }) => person_id));
  const details = members.flatMap((member, n) =>
    known.has(member) ? [] : [{ path: `members.${n}`, message: 'is not the id of a person' }],
  );
  if (details.length > 0) throw new ProblemException(422, 'The team names people who do not exist', { details });
}

const NAMED_IN = {
  grants: 'The roles name teams that do not exist',
  mapping: 'The mapping names teams that do not exist',
} as const;

/** @throws ProblemException 422 naming the lines of a list whose team does not exist */
export async function requireTeams(
  tx: Transaction<Tables>,
  tenantId: string,
  place: keyof typeof NAMED_IN,
  lines: readonly { readonly team?: string | undefined }[],
): Promise<void> {
  const rows = await tx.selectFrom('teams').select('team_id').where('tenant_id', '=', tenantId).execute();
  const known = new Set(rows.map(({ team_id }) => team_id));
  const details = lines.flatMap(({ team }, line) =>
    team === undefined || known.has(team)
      ? []
      : [{ path: `${place}.${line}.team`, message: `there is no team "${team}"; create it first` }],
  );
  if (details.length > 0) throw new ProblemException(422, NAMED_IN[place], { details });
}

interface TeamMember {
  readonly person: string;
  readonly name: string;
  readonly source: 'provider' | 'manual';
}

function viewRows(db: Kysely<Tables>, tenantId: string) {
  return db
    .selectFrom('teams')
    .selectAll()
    .select(
      sql<TeamMember[]>`coalesce((
        select json_agg(json_build_object('person', p.person_id, 'name', p.name, 'source', m.source) order by p.name, p.person_id)
        from team_members m join people p using (tenant_id, person_id)
        where m.tenant_id = teams.tenant_id and m.team_id = teams.team_id), '[]')`.as('members'),
    )
    .where('teams.tenant_id', '=', tenantId);
}

type TeamRow = Awaited<ReturnType<ReturnType<typeof viewRows>['executeTakeFirstOrThrow']>>;

function viewFromRow({ team_id: id, name, agents, members, version }: TeamRow): TeamView {
  return { id, name, agents, members, version };
}
