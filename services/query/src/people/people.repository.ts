import { type ChangeAuthor, DAY_MS, HOUR_MS, type Role, type RoleGrant, timeOrderedId } from '@agentlens/contracts';
import { type Database, lockUntilEnd, type PeopleTable, recordChanges, type Tables } from '@agentlens/database';
import type { PersonView } from '@agentlens/operations';
import { type Clock, ProblemException, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { requireVersion } from '../http/tenant-reads.ts';
import { deleteDeputyships } from './deputies.repository.ts';
import type { IdentityProvider } from './identity-providers.ts';
import { PersonKeys } from './person-keys.ts';
import { requireTeams } from './teams.repository.ts';

/** What a verified sign-in says about a person. */
export interface SeenPerson {
  readonly provider: IdentityProvider;
  readonly issuer: string;
  readonly subject: string;
  readonly sid: string | undefined;
  readonly name: string;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly grants: readonly RoleGrant[];
  readonly teams: readonly string[];
  /** When the provider last asked for credentials. Undefined: it did not say. */
  readonly signedInAtMs: number | undefined;
}

export type SeenResult =
  | { readonly kind: 'signed_in'; readonly personId: string; readonly keyId: string; readonly key: string }
  | { readonly kind: 'disabled' | 'no_role' | 'too_many' };

interface PersonChange {
  readonly tenantId: string;
  readonly author: ChangeAuthor;
  readonly ifVersion?: number | undefined;
}

interface PersonPatch {
  readonly state?: 'active' | 'disabled' | undefined;
  readonly grants?: readonly RoleGrant[] | undefined;
}

const MAX_PEOPLE = 10_000;
const MAX_LISTED = 1_000;
/** Roles from claims end this long after the last sign-in. */
const CLAIMS_MS = 7 * DAY_MS;

/** People, their roles and their identities. This service is their only writer. */
@Injectable()
export class People {
  constructor(
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
    private readonly keys: PersonKeys,
  ) {}

  /**
   * Records a sign-in: finds the person by provider, issuer and subject, never by e-mail, replaces the roles and teams
   * from claims, and creates the key of the session.
   */
  async signIn(seen: SeenPerson): Promise<SeenResult> {
    const { tenantId } = seen.provider;
    const result = await this.database.db.transaction().execute((tx) => this.#signIn(tx, seen));
    if (result.kind !== 'too_many')
      await this.keys.announce(tenantId, await this.keys.idsOf(tenantId, result.personId));
    return result;
  }

  async #signIn(tx: Transaction<Tables>, seen: SeenPerson) {
    const { provider, issuer, subject } = seen;
    const { tenantId } = provider;
    await lockUntilEnd(tx, 'sign-in', `${tenantId} ${provider.id} ${issuer} ${subject}`);
    const person = await this.#findOrCreate(tx, seen);
    if (person === undefined) return { kind: 'too_many' as const };
    const { person_id: personId } = person;
    if (person.state === 'disabled') return { kind: 'disabled' as const, personId };
    await this.#replaceClaims(tx, personId, seen);
    const held = await tx
      .selectFrom('person_grants')
      .select('role')
      .where('tenant_id', '=', tenantId)
      .where('person_id', '=', personId)
      .limit(1)
      .executeTakeFirst();
    if (held === undefined) return { kind: 'no_role' as const, personId };
    await this.keys.deleteExpired(tx, tenantId, personId);
    const { sessionHours, idleHours } = provider.settings;
    const made = await this.keys.create(tx, {
      ...{
        tenantId,
        personId,
        name: seen.name,
        via: 'console',
        signedInAtMs: seen.signedInAtMs,
        providerId: provider.id,
      },
      ...(seen.sid === undefined ? {} : { sid: seen.sid }),
      expiresAtMs: this.clock.now() + sessionHours * HOUR_MS,
      idleSeconds: Math.round(idleHours * 3_600),
    });
    const author = { keyId: made.id, keyName: seen.name, person: seen.name, personId, via: 'console' as const };
    const after = { provider: provider.settings.name, roles: seen.grants, teams: seen.teams };
    await recordChanges(tx, [{ tenantId, at: this.#at(), kind: 'session.started', targetId: personId, author, after }]);
    return { kind: 'signed_in' as const, personId, keyId: made.id, key: made.key };
  }

  async #findOrCreate(tx: Transaction<Tables>, seen: SeenPerson): Promise<Selectable<PeopleTable> | undefined> {
    const { provider, issuer, subject, name, email, emailVerified } = seen;
    const { tenantId } = provider;
    const at = this.#at();
    const known = await tx
      .selectFrom('person_identities')
      .select('person_id')
      .where('tenant_id', '=', tenantId)
      .where('provider_id', '=', provider.id)
      .where('issuer', '=', issuer)
      .where('subject', '=', subject)
      .executeTakeFirst();
    const about = {
      name,
      email,
      email_verified: emailVerified,
      last_seen_at: at,
      claims_until: this.#at(this.clock.now() + CLAIMS_MS),
    };
    if (known !== undefined) {
      return tx
        .updateTable('people')
        .set(about)
        .where('tenant_id', '=', tenantId)
        .where('person_id', '=', known.person_id)
        .returningAll()
        .executeTakeFirstOrThrow();
    }
    const { people } = await tx
      .selectFrom('people')
      .select(({ fn }) => fn.countAll<number>().as('people'))
      .where('tenant_id', '=', tenantId)
      .executeTakeFirstOrThrow();
    if (Number(people) >= MAX_PEOPLE) return undefined;
    const personId = timeOrderedId(this.clock.now());
    const row = await tx
      .insertInto('people')
      .values({ tenant_id: tenantId, person_id: personId, created_at: at, ...about })
      .returningAll()
      .executeTakeFirstOrThrow();
    const identity = { tenant_id: tenantId, provider_id: provider.id, issuer, subject, person_id: personId };
    await tx.insertInto('person_identities').values(identity).execute();
    const after = { name, provider: provider.settings.name, subject };
    await recordChanges(tx, [{ tenantId, at, kind: 'person.seen', targetId: personId, after }]);
    return row;
  }

  /** Grants by hand stay. */
  async #replaceClaims(
    tx: Transaction<Tables>,
    personId: string,
    { provider: { tenantId }, grants, teams }: SeenPerson,
  ): Promise<void> {
    await replaceGrants(tx, tenantId, personId, grants, 'provider');
    await tx
      .deleteFrom('team_members')
      .where('tenant_id', '=', tenantId)
      .where('person_id', '=', personId)
      .where('source', '=', 'provider')
      .execute();
    if (teams.length === 0) return;
    await tx
      .insertInto('team_members')
      .values(
        teams.map((team) => ({ tenant_id: tenantId, team_id: team, person_id: personId, source: 'provider' as const })),
      )
      .execute();
  }

  async list(tenantId: string): Promise<PersonView[]> {
    const rows = await viewRows(this.database.db, tenantId)
      .orderBy('name')
      .orderBy('person_id')
      .limit(MAX_LISTED)
      .execute();
    return rows.map(viewFromRow);
  }

  /** Returns null if there is no such person. @throws ProblemException 409 if this is the last administrator */
  async change(
    personId: string,
    patch: PersonPatch,
    { tenantId, author, ifVersion }: PersonChange,
  ): Promise<PersonView | null> {
    const changed = await this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'administrators', tenantId);
      const before = await viewRows(tx, tenantId).where('people.person_id', '=', personId).executeTakeFirst();
      if (before === undefined) return null;
      requireVersion('person', ifVersion, before.version);
      await requireTeams(tx, tenantId, 'grants', patch.grants ?? []);
      if (patch.grants !== undefined) await replaceGrants(tx, tenantId, personId, patch.grants, 'manual');
      await tx
        .updateTable('people')
        .set({ state: patch.state ?? before.state, version: before.version + 1 })
        .where('tenant_id', '=', tenantId)
        .where('person_id', '=', personId)
        .execute();
      await this.#requireAdministrator(tx, tenantId);
      const after = await viewRows(tx, tenantId).where('people.person_id', '=', personId).executeTakeFirstOrThrow();
      const kind =
        patch.grants !== undefined ? 'grant.set' : patch.state === 'disabled' ? 'person.disabled' : 'person.changed';
      const shown = (row: PersonRow) => ({ state: row.state, grants: row.grants });
      const change = { tenantId, at: this.#at(), kind, targetId: personId, author } as const;
      await recordChanges(tx, [{ ...change, before: shown(before), after: shown(after) }]);
      if (patch.state === 'disabled') await deleteDeputyships(tx, tenantId, personId);
      const ended = patch.state === 'disabled' ? await this.keys.revoke(tx, tenantId, { personId }) : [];
      return { view: viewFromRow(after), ended };
    });
    if (changed === null) return null;
    await this.keys.announce(tenantId, [...changed.ended, ...(await this.keys.idsOf(tenantId, personId))]);
    return changed.view;
  }

  /**
   * Ends every session of a person, and the personal keys unless `via` is the console. Returns null if there is no such
   * person.
   */
  async endSessions(
    personId: string,
    { tenantId, author, via }: PersonChange & { readonly via?: 'console' },
  ): Promise<number | null> {
    const ended = await this.database.db.transaction().execute(async (tx) => {
      const person = await viewRows(tx, tenantId).where('people.person_id', '=', personId).executeTakeFirst();
      if (person === undefined) return null;
      const keyIds = await this.keys.revoke(tx, tenantId, { personId, ...(via === undefined ? {} : { via }) });
      const change = { tenantId, at: this.#at(), kind: 'session.ended', targetId: personId, author } as const;
      await recordChanges(tx, [{ ...change, after: { ended: keyIds.length } }]);
      return keyIds;
    });
    if (ended === null) return null;
    await this.keys.announce(tenantId, ended);
    return ended.length;
  }

  /** The tenant needs an active administrator: a person, or a key that may sign in. */
  async #requireAdministrator(tx: Transaction<Tables>, tenantId: string): Promise<void> {
    const { rows } = await sql<{ readonly found: boolean }>`
      select exists (
        select from person_grants g join people p using (tenant_id, person_id)
        where g.tenant_id = ${tenantId} and g.role = 'admin' and g.team_id = '' and p.state = 'active'
          and (g.source = 'manual' or p.claims_until > ${this.#at()})
      ) or exists (
        select from api_keys k where k.tenant_id = ${tenantId} and k.person_id is null and 'admin' = any(k.scopes)
          and k.revoked_at is null and (k.expires_at is null or k.expires_at > ${this.#at()})
      ) as found`.execute(tx);
    if (rows[0]?.found === true) return;
    throw new ProblemException(409, 'This is the last administrator of the tenant', {
      hint: 'Make another person an administrator first, or create an admin key.',
    });
  }

  #at(ms = this.clock.now()): string {
    return new Date(ms).toISOString();
  }
}

async function replaceGrants(
  tx: Transaction<Tables>,
  tenantId: string,
  personId: string,
  grants: readonly RoleGrant[],
  source: 'provider' | 'manual',
): Promise<void> {
  await tx
    .deleteFrom('person_grants')
    .where('tenant_id', '=', tenantId)
    .where('person_id', '=', personId)
    .where('source', '=', source)
    .execute();
  if (grants.length === 0) return;
  await tx
    .insertInto('person_grants')
    .values(
      grants.map(({ role, team = '' }) => ({ tenant_id: tenantId, person_id: personId, role, team_id: team, source })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

interface SourcedGrant {
  readonly role: Role;
  readonly team: string | null;
  readonly source: 'provider' | 'manual';
}

function viewRows(db: Kysely<Tables>, tenantId: string) {
  return db
    .selectFrom('people')
    .selectAll()
    .select(
      sql<SourcedGrant[]>`coalesce((
        select json_agg(json_build_object('role', role, 'team', nullif(team_id, ''), 'source', source) order by role, team_id, source)
        from person_grants g where g.tenant_id = people.tenant_id and g.person_id = people.person_id), '[]')`.as(
        'grants',
      ),
    )
    .select(
      sql<string[]>`array(select distinct team_id from team_members m
        where m.tenant_id = people.tenant_id and m.person_id = people.person_id order by 1)`.as('teams'),
    )
    .select(
      sql<{ provider: string; subject: string }[]>`coalesce((
        select json_agg(json_build_object('provider', provider_id, 'subject', subject))
        from person_identities i where i.tenant_id = people.tenant_id and i.person_id = people.person_id), '[]')`.as(
        'identities',
      ),
    )
    .where('people.tenant_id', '=', tenantId);
}

type PersonRow = Awaited<ReturnType<ReturnType<typeof viewRows>['executeTakeFirstOrThrow']>>;

function viewFromRow(row: PersonRow): PersonView {
  return {
    ...{ id: row.person_id, name: row.name, email: row.email, emailVerified: row.email_verified, state: row.state },
    grants: row.grants.map(({ team, ...grant }) => (team === null ? grant : { ...grant, team })),
    ...{ teams: row.teams, identities: row.identities },
    ...{ claimsUntil: row.claims_until, lastSeenAt: row.last_seen_at, version: row.version },
  };
}
