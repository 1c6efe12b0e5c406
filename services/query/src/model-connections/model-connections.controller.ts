import { createHash } from 'node:crypto';
import {
  type ChangeAuthor,
  type ConnectionDialect,
  MAX_MODEL_CONNECTIONS,
  type ModelConnectionDraft,
  PROVIDER_ADDRESSES,
  TRIAL_PROVIDER,
} from '@agentlens/contracts';
import { type Database, lockUntilEnd, recordChanges, type Tables } from '@agentlens/database';
import { type EgressClient, type EgressPolicy, refuseAddress } from '@agentlens/egress';
import { isForwardable } from '@agentlens/model-api';
import {
  deleteModelConnection,
  listModelConnections,
  type ModelConnectionView,
  type RequestOf,
  setModelConnection,
  testModelConnection,
} from '@agentlens/operations';
import {
  type Caller,
  type Clock,
  CurrentCaller,
  FromRequest,
  ProblemException,
  port,
  type SecretBox,
  Serves,
} from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import type { Kysely, Selectable } from 'kysely';
import { foundOr404, requireVersion, TenantReads } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { readLinks, requireFallback, requireUnused } from './fallbacks.ts';
import { testConnection } from './test-connection.ts';

const CONNECTION = 'Model connection';

/** All columns except the credential. */
const SHOWN = [
  ...(['name', 'dialect', 'base_url', 'fingerprint', 'credential_set_at', 'models', 'forward_headers'] as const),
  ...(['pricing_provider', 'enabled', 'fallback', 'first_byte_seconds'] as const),
  ...(['version', 'created_at', 'updated_at'] as const),
] as const;

interface Change {
  readonly tenantId: string;
  readonly author: ChangeAuthor;
  readonly ifVersion: number | undefined;
}

/** Connections to model providers. This service is their only writer; gateways read them. */
@Injectable()
export class ModelConnectionsRepository {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('secrets')) private readonly secrets: SecretBox,
  ) {}

  async list(tenantId: string): Promise<ModelConnectionView[]> {
    const rows = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('provider_connections')
        .select(SHOWN)
        .where('tenant_id', '=', tenantId)
        .orderBy('name')
        .limit(MAX_MODEL_CONNECTIONS)
        .execute(),
    );
    return rows.map(viewFromRow);
  }

  /** Creates the connection or replaces it. @throws ProblemException 400, 409, 412 */
  set(
    name: string,
    draft: ModelConnectionDraft,
    { tenantId, author, ifVersion }: Change,
  ): Promise<ModelConnectionView> {
    const at = new Date(this.clock.now()).toISOString();
    return this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'model connections', tenantId);
      const before = await find(tx, tenantId, name);
      requireVersion(CONNECTION, ifVersion, before?.version ?? 0);
      if (before === undefined) await requireRoom(tx, tenantId);
      requireFallback(name, draft, await readLinks(tx, tenantId));
      const baseUrl = draft.baseUrl ?? PROVIDER_ADDRESSES[draft.dialect];
      const values = {
        tenant_id: tenantId,
        name,
        dialect: draft.dialect,
        base_url: baseUrl,
        ...this.#credential(draft, { tenantId, name, baseUrl, before, at }),
        models: draft.models === undefined ? null : [...draft.models],
        forward_headers: [...draft.forwardHeaders],
        pricing_provider: draft.pricingProvider ?? null,
        enabled: draft.enabled,
        fallback: draft.fallback ?? null,
        first_byte_seconds: draft.firstByteSeconds ?? null,
        version: (before?.version ?? 0) + 1,
        created_at: before?.created_at ?? at,
        updated_at: at,
      };
      const row = await tx
        .insertInto('provider_connections')
        .values(values)
        .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doUpdateSet(values))
        .returning(SHOWN)
        .executeTakeFirstOrThrow();
      const after = viewFromRow(row);
      const change = { tenantId, at, kind: 'model_connection.set', targetId: name, author } as const;
      await recordChanges(tx, [{ ...change, before: before && viewFromRow(before), after }]);
      return after;
    });
  }

  /**
   * The stored key is kept only for the address it was given for: otherwise a change of the address would send it to
   * another server.
   */
  #credential(draft: ModelConnectionDraft, place: CredentialPlace) {
    const { tenantId, name, baseUrl, before, at } = place;
    if (draft.credential !== undefined) {
      return {
        sealed_credential: this.secrets.seal(draft.credential, [tenantId, 'provider_connections', name]),
        fingerprint: createHash('sha256').update(draft.credential).digest('hex').slice(0, 12),
        credential_set_at: at,
      };
    }
    if (before !== undefined && before.base_url === baseUrl) {
      const { sealed_credential, fingerprint, credential_set_at } = before;
      return { sealed_credential, fingerprint, credential_set_at };
    }
    if (baseUrl === TRIAL_PROVIDER) return { sealed_credential: null, fingerprint: null, credential_set_at: null };
    const message =
      before === undefined ? 'is required for a new connection' : 'is required, because the address changes';
    throw new ProblemException(400, 'Validation failed', { details: [{ path: 'credential', message }] });
  }

  /** A connection with its key opened, or undefined. */
  async open(tenantId: string, name: string) {
    const row = await this.database.db
      .selectFrom('provider_connections')
      .select(['dialect', 'base_url', 'sealed_credential'])
      .where('tenant_id', '=', tenantId)
      .where('name', '=', name)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { sealed_credential: sealed } = row;
    const credential =
      sealed === null ? undefined : this.secrets.open(sealed, [tenantId, 'provider_connections', name]);
    // Only this service writes it, from the same list.
    return { dialect: row.dialect as ConnectionDialect, baseUrl: row.base_url, credential };
  }

  /** Returns false if there is no such connection. @throws ProblemException 409, 412 */
  delete(name: string, { tenantId, author, ifVersion }: Change): Promise<boolean> {
    const at = new Date(this.clock.now()).toISOString();
    return this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'model connections', tenantId);
      const row = await find(tx, tenantId, name);
      if (row === undefined) return false;
      requireVersion(CONNECTION, ifVersion, row.version);
      requireUnused(name, await readLinks(tx, tenantId));
      await tx.deleteFrom('provider_connections').where('tenant_id', '=', tenantId).where('name', '=', name).execute();
      const change = { tenantId, at, kind: 'model_connection.deleted', targetId: name, author } as const;
      await recordChanges(tx, [{ ...change, before: viewFromRow(row) }]);
      return true;
    });
  }
}

type Row = Selectable<Tables['provider_connections']>;

interface CredentialPlace {
  readonly tenantId: string;
  readonly name: string;
  readonly baseUrl: string;
  readonly before: Row | undefined;
  readonly at: string;
}

function find(tx: Kysely<Tables>, tenantId: string, name: string): Promise<Row | undefined> {
  return tx
    .selectFrom('provider_connections')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('name', '=', name)
    .forUpdate()
    .executeTakeFirst();
}

async function requireRoom(tx: Kysely<Tables>, tenantId: string): Promise<void> {
  const { count } = await tx
    .selectFrom('provider_connections')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenantId)
    .executeTakeFirstOrThrow();
  if (Number(count) < MAX_MODEL_CONNECTIONS) return;
  throw new ProblemException(409, `A tenant has at most ${MAX_MODEL_CONNECTIONS} model connections`, {
    hint: 'Delete a connection that is no longer needed.',
  });
}

function viewFromRow(row: Pick<Row, (typeof SHOWN)[number]>): ModelConnectionView {
  const { fingerprint, credential_set_at: setAt } = row;
  return {
    name: row.name,
    // Only this service writes it, from the same list.
    dialect: row.dialect as ConnectionDialect,
    baseUrl: row.base_url,
    credential: fingerprint === null || setAt === null ? null : { fingerprint, setAt },
    models: row.models,
    forwardHeaders: row.forward_headers,
    pricingProvider: row.pricing_provider,
    enabled: row.enabled,
    fallback: row.fallback,
    firstByteSeconds: row.first_byte_seconds,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

@Controller()
export class ModelConnectionsController {
  constructor(
    private readonly connections: ModelConnectionsRepository,
    private readonly names: KeyNames,
    @Inject(port('egressPolicy')) private readonly egressPolicy: EgressPolicy,
    @Inject(port('egress')) private readonly egress: EgressClient,
  ) {}

  @Serves(listModelConnections)
  async list(@CurrentCaller() { tenantId }: Caller) {
    return { connections: await this.connections.list(tenantId) };
  }

  @Serves(setModelConnection)
  async set(@CurrentCaller() caller: Caller, @FromRequest() request: RequestOf<typeof setModelConnection>) {
    const { params, headers, body: draft } = request;
    this.#requireUsable(draft);
    const { author } = await this.names.authorOf(caller);
    const change = { tenantId: caller.tenantId, author, ifVersion: headers['if-match'] };
    return this.connections.set(params.name, draft, change);
  }

  @Serves(testModelConnection)
  async test(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params }: RequestOf<typeof testModelConnection>) {
    return testConnection(this.egress, foundOr404(CONNECTION, await this.connections.open(tenantId, params.name)));
  }

  @Serves(deleteModelConnection)
  async delete(@CurrentCaller() caller: Caller, @FromRequest() request: RequestOf<typeof deleteModelConnection>) {
    const { params, headers } = request;
    const { author } = await this.names.authorOf(caller);
    const change = { tenantId: caller.tenantId, author, ifVersion: headers['if-match'] };
    foundOr404(CONNECTION, (await this.connections.delete(params.name, change)) ? true : undefined);
    return { ok: true as const };
  }

  /** Names are checked again with all their addresses when the gateway connects. @throws ProblemException 400 */
  #requireUsable({ baseUrl, forwardHeaders }: ModelConnectionDraft): void {
    const details: { path: string; message: string }[] = [];
    if (baseUrl !== undefined && baseUrl !== TRIAL_PROVIDER) {
      const refusal = refuseAddress(baseUrl, this.egressPolicy);
      if (refusal !== null) details.push({ path: 'baseUrl', message: refusal });
    }
    forwardHeaders.forEach((name, index) => {
      if (isForwardable(name)) return;
      const message = 'cannot be forwarded: it carries credentials or belongs to one connection';
      details.push({ path: `forwardHeaders[${index}]`, message });
    });
    if (details.length > 0) throw new ProblemException(400, 'Validation failed', { details });
  }
}
