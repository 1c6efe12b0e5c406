import { type ChangeAuthor, PLATFORM_TENANT } from '@agentlens/contracts';
import { type Database, recordChanges, type Tables } from '@agentlens/database';
import {
  createTenant,
  listTenants,
  type RequestOf,
  TENANT_LIST,
  type TenantFilter,
  type TenantView,
} from '@agentlens/operations';
import {
  ApiKeys,
  type Caller,
  type Clock,
  CurrentCaller,
  FromRequest,
  type NewApiKey,
  ProblemException,
  port,
  Serves,
} from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { KeyNames } from '../keys/key-names.ts';

interface MadeTenant {
  readonly tenant: TenantView;
  readonly adminKey: NewApiKey;
}

/** The table `tenants` across tenants, for keys that may create them. */
@Injectable()
export class TenantsRepository {
  constructor(
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
    private readonly keys: ApiKeys,
  ) {}

  /** Returns null if a tenant with this id exists. */
  create(id: string, name: string, author: ChangeAuthor): Promise<MadeTenant | null> {
    return this.database.db.transaction().execute(async (db) => {
      const row = await db
        .insertInto('tenants')
        .values({ id, name, created_at: new Date(this.clock.now()).toISOString() })
        .onConflict((conflict) => conflict.doNothing())
        .returningAll()
        .executeTakeFirst();
      if (row === undefined) return null;
      const tenant = tenantOf(row);
      const made = { tenantId: PLATFORM_TENANT, at: tenant.createdAt, targetId: id, author, after: tenant };
      await recordChanges(db, [{ kind: 'tenant.created', ...made }]);
      const firstKey = { tenantId: id, name: 'first admin key', scopes: ['admin'], author } as const;
      return { tenant, adminKey: await this.keys.createIn(db, firstKey) };
    });
  }

  async list({ limit, offset, cursor }: TenantFilter): Promise<Page<TenantView>> {
    let query = this.database.db
      .selectFrom('tenants')
      .selectAll()
      .where('id', '!=', PLATFORM_TENANT)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit + 1)
      .offset(offset);
    if (cursor !== undefined) {
      query = query.where(sql<boolean>`(created_at, id) < (${cursor.at}::timestamptz, ${cursor.id})`);
    }
    return pageOf(TENANT_LIST, await query.execute(), limit, ({ id, created_at: at }) => ({ at, id }), tenantOf);
  }
}

function tenantOf({ id, name, created_at: createdAt }: Selectable<Tables['tenants']>): TenantView {
  return { id, name, createdAt };
}

@Controller()
export class TenantsController {
  constructor(
    private readonly tenants: TenantsRepository,
    private readonly names: KeyNames,
  ) {}

  @Serves(createTenant)
  async create(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createTenant>) {
    const { id, name = id } = body;
    const { author } = await this.names.authorOf(caller);
    const made = await this.tenants.create(id, name, author);
    if (made === null) {
      throw new ProblemException(409, `A tenant "${id}" exists already`, { hint: 'Choose another id.' });
    }
    const { id: keyId, key } = made.adminKey;
    return { ...made.tenant, adminKey: { id: keyId, key } };
  }

  @Serves(listTenants)
  async list(@FromRequest() { query }: RequestOf<typeof listTenants>) {
    const { items, ...page } = await this.tenants.list(query);
    return { tenants: items, ...page };
  }
}
