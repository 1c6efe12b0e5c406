import type { AuditRecord, ChangeAuthor, ChangeKind } from '@agentlens/contracts';
import { auditEntryFromRow, type Database, lockUntilEnd, recordChanges } from '@agentlens/database';
import {
  AUDIT_LIST,
  type AuditEntry,
  type AuditFilter,
  createDeploy,
  type Deploy,
  type DeployDraft,
  type DeploysQuery,
  listAudit,
  listDeploys,
  type RequestOf,
  withEnds,
} from '@agentlens/operations';
import {
  type Caller,
  type Clock,
  CurrentCaller,
  FromRequest,
  ProblemException,
  port,
  Serves,
} from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';

@Injectable()
export class AuditQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, filter: AuditFilter): Promise<Page<AuditEntry>> {
    const rows = await this.reads.read(tenantId, (db) => pageRows(db, tenantId, withEnds(filter, this.clock.now())));
    return pageOf(AUDIT_LIST, rows, filter.limit, ({ at, entry_id: id }) => ({ at, id }), auditEntryFromRow);
  }
}

function pageRows(db: ReadOnly, tenantId: string, filter: AuditFilter) {
  let query = db.selectFrom('audit_entries').selectAll().where('tenant_id', '=', tenantId);
  const { actor, kind, target, targetId, from, to, cursor } = filter;
  if (actor !== undefined) {
    query = query.where((eb) =>
      eb.or([
        eb('person', '=', actor),
        eb('person_id', '=', actor),
        eb('key_id', '=', actor),
        eb('key_name', '=', actor),
      ]),
    );
  }
  if (kind !== undefined) query = query.where('kind', 'in', kind);
  if (target !== undefined) query = query.where('target', 'in', target);
  if (targetId !== undefined) query = query.where('target_id', '=', targetId);
  if (from !== undefined) query = query.where('at', '>=', from);
  if (to !== undefined) query = query.where('at', '<=', to);
  if (cursor !== undefined) {
    query = query.where(sql<boolean>`(at, entry_id) < (${cursor.at}::timestamptz, ${cursor.id})`);
  }
  return query
    .orderBy('at', 'desc')
    .orderBy('entry_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}

const KIND: ChangeKind = 'deploy.recorded';
const MAX_CLOCK_SKEW_MS = 60_000;
/** When a deploy happened, which may be before it was recorded. @param entries table or alias of the audit */
export function deployTime(entries: string): RawBuilder<string> {
  return sql`coalesce((${sql.ref(`${entries}.after`)}->>'deployedAt')::timestamptz, ${sql.ref(`${entries}.at`)})`;
}

const DEPLOYED_AT = deployTime('audit_entries');

/** Deploys that were reported to the platform. They are entries of the audit. */
@Injectable()
export class Deploys {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, query: DeploysQuery): Promise<Deploy[]> {
    const { agentId, from, to, limit } = withEnds(query, this.clock.now());
    const rows = await this.reads.read(tenantId, (db) => {
      let deploys = newestFirst(db, tenantId).limit(limit);
      // Nothing is recorded before it happened, so the indexed time bounds the other one.
      if (from !== undefined) deploys = deploys.where('at', '>=', from).where(DEPLOYED_AT, '>=', from);
      if (to !== undefined) deploys = deploys.where(DEPLOYED_AT, '<=', to);
      if (agentId !== undefined)
        deploys = deploys.where(sql<boolean>`coalesce(after->>'agentId', ${agentId}) = ${agentId}`);
      return deploys.execute();
    });
    return rows.map((row) => deployOf(auditEntryFromRow(row)));
  }

  /** Records a deploy unless the last one of the same agent had this version. Returns the one that is recorded. */
  async record(draft: DeployDraft, tenantId: string, author: ChangeAuthor): Promise<Deploy> {
    const nowMs = this.clock.now();
    const { note, at: happenedAt, ...deploy } = draft;
    if (happenedAt !== undefined && Date.parse(happenedAt) > nowMs + MAX_CLOCK_SKEW_MS)
      throw new ProblemException(400, 'Validation failed', {
        details: [{ path: 'at', message: 'must not lie in the future' }],
      });
    const at = new Date(nowMs).toISOString();
    const deployedAt = happenedAt === undefined || Date.parse(happenedAt) >= nowMs ? undefined : happenedAt;
    // The entry keeps the time of its recording, as every entry of the audit does.
    const after = { ...deploy, ...(deployedAt === undefined ? {} : { deployedAt }) };
    return this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'deploys', tenantId);
      const last = newestFirst(tx, tenantId)
        .where(sql<boolean>`after->>'agentId' is not distinct from ${draft.agentId ?? null}::text`)
        .where(DEPLOYED_AT, '<=', deployedAt ?? at)
        .limit(1);
      const before = await last.executeTakeFirst();
      if (before !== undefined && deployOf(auditEntryFromRow(before)).version === draft.version)
        return deployOf(auditEntryFromRow(before));
      const targetId = draft.agentId ?? tenantId;
      await recordChanges(tx, [{ tenantId, at, kind: KIND, targetId, author, reason: note || undefined, after }]);
      return deployOf(auditEntryFromRow(await last.executeTakeFirstOrThrow()));
    });
  }
}

function newestFirst(db: ReadOnly, tenantId: string) {
  return db
    .selectFrom('audit_entries')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('kind', '=', KIND)
    .orderBy(DEPLOYED_AT, 'desc')
    .orderBy('entry_id', 'desc');
}

function deployOf({ id, changedAt, actor, reason, after }: AuditRecord): Deploy {
  // Only this class writes it, from the draft.
  const { deployedAt, ...draft } = after as unknown as Omit<DeployDraft, 'note' | 'at'> & {
    readonly deployedAt?: string;
  };
  const by = actor?.person ?? actor?.keyName;
  return {
    ...{ ...draft, id, at: deployedAt ?? changedAt },
    ...(reason === null ? {} : { note: reason }),
    ...(by === undefined ? {} : { by }),
  };
}

@Controller()
export class AuditController {
  constructor(
    private readonly audit: AuditQueries,
    private readonly deploys: Deploys,
    private readonly names: KeyNames,
  ) {}

  @Serves(listAudit)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listAudit>) {
    const { items, ...page } = await this.audit.list(caller.tenantId, query);
    return { entries: items, ...page };
  }

  @Serves(listDeploys)
  async listDeploys(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof listDeploys>) {
    return { deploys: await this.deploys.list(tenantId, query) };
  }

  @Serves(createDeploy)
  async recordDeploy(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createDeploy>) {
    const { author } = await this.names.authorOf(caller);
    return this.deploys.record(body, caller.tenantId, author);
  }
}
