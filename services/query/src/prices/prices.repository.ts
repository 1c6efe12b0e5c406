import {
  type ChangeAuthor,
  DAY_MS,
  detailsOf,
  MAX_PRICE_OVERRIDES,
  PLATFORM_TENANT,
  type PriceOverride,
  type PriceOverrideDraft,
  pricesChanged,
  timeOrderedId,
} from '@agentlens/contracts';
import { type Database, lockUntilEnd, priceOverrideFromRow, recordChanges, type Tables } from '@agentlens/database';
import type { EventBus } from '@agentlens/messaging';
import type { PriceTableView } from '@agentlens/operations';
import { type Clock, type Platform, ProblemException, port } from '@agentlens/platform';
import { SHIPPED_TABLE, TableFile } from '@agentlens/prices';
import { Inject, Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { requireVersion, TenantReads } from '../http/tenant-reads.ts';

interface Change {
  readonly tenantId: string;
  readonly author: ChangeAuthor;
  readonly ifVersion: number | undefined;
}

/** Own prices of tenants, and price tables that operators load. This service is their only writer. */
@Injectable()
export class PricesRepository {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('bus')) private readonly bus: EventBus,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  /** The table that gateways use: the one loaded last, or the shipped one. */
  async table(): Promise<PriceTableView> {
    const row = await this.database.db
      .selectFrom('price_tables')
      .select(['version', 'loaded_at'])
      .orderBy('loaded_at', 'desc')
      .limit(1)
      .executeTakeFirst();
    const ageOf = (since: string) => Math.max(0, Math.floor((this.clock.now() - Date.parse(since)) / DAY_MS));
    if (row !== undefined) {
      const { version, loaded_at: loadedAt } = row;
      return { version, source: 'loaded', loadedAt, ageDays: ageOf(loadedAt) };
    }
    const { version, publishedAt } = SHIPPED_TABLE;
    return { version, source: 'shipped', publishedAt, ageDays: ageOf(publishedAt) };
  }

  /** @throws ProblemException 400 if the table has another format, 409 if the version was loaded before */
  async loadTable(version: string, file: readonly object[], author: ChangeAuthor): Promise<number> {
    const parsed = TableFile.safeParse(file);
    if (!parsed.success) {
      throw new ProblemException(400, 'Validation failed', {
        details: detailsOf(parsed.error, ['providers']),
        hint: 'Send the array of providers of data.json of genai-prices, version 2.',
      });
    }
    const models = parsed.data.reduce((sum, provider) => sum + provider.models.length, 0);
    const at = new Date(this.clock.now()).toISOString();
    await this.database.db.transaction().execute(async (tx) => {
      const values = {
        version,
        providers: JSON.stringify(parsed.data),
        models,
        loaded_at: at,
        loaded_by: author.keyId,
      };
      const made = await tx
        .insertInto('price_tables')
        .values(values)
        .onConflict((conflict) => conflict.doNothing())
        .returning('version')
        .executeTakeFirst();
      if (made === undefined || version === SHIPPED_TABLE.version) {
        throw new ProblemException(409, `The price table ${version} was loaded before`, {
          hint: 'Give the newer table another version.',
        });
      }
      const change = { tenantId: PLATFORM_TENANT, at, kind: 'price_table.loaded', targetId: version } as const;
      await recordChanges(tx, [{ ...change, author, after: { version, models } }]);
    });
    return models;
  }

  async list(tenantId: string): Promise<readonly PriceOverride[]> {
    const rows = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('price_overrides')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('deleted_at', 'is', null)
        .orderBy('model')
        .orderBy('from_day', 'desc')
        .orderBy('override_id')
        .limit(MAX_PRICE_OVERRIDES)
        .execute(),
    );
    return rows.map(priceOverrideFromRow);
  }

  /** Creates an own price or replaces the one with the same provider, model and day. @throws ProblemException */
  async set(draft: PriceOverrideDraft, { tenantId, author, ifVersion }: Change): Promise<PriceOverride> {
    const at = new Date(this.clock.now()).toISOString();
    const set = await this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'prices', tenantId);
      const before = await findSame(tx, tenantId, draft);
      const version = before?.version ?? 0;
      requireVersion('price', ifVersion, version);
      if (before === undefined && (await countOf(tx, tenantId)) >= MAX_PRICE_OVERRIDES) {
        throw new ProblemException(409, `A tenant has at most ${MAX_PRICE_OVERRIDES} own prices`, {
          hint: 'Delete prices that no longer apply, or use a pattern such as "gpt-*".',
        });
      }
      const { provider, model, fromDay, ...price } = draft;
      const values = {
        ...{ tenant_id: tenantId, override_id: before?.id ?? timeOrderedId(this.clock.now()), version: version + 1 },
        ...{ provider: provider ?? null, model, from_day: fromDay, price: JSON.stringify(price) },
        ...{ created_at: before?.createdAt ?? at, updated_at: at, deleted_at: null },
      };
      const row = await tx
        .insertInto('price_overrides')
        .values(values)
        .onConflict((conflict) => conflict.columns(['tenant_id', 'override_id']).doUpdateSet(values))
        .returningAll()
        .executeTakeFirstOrThrow();
      const after = priceOverrideFromRow(row);
      const change = { tenantId, at, kind: 'price.set', targetId: after.id, author, before, after } as const;
      await recordChanges(tx, [change]);
      return after;
    });
    await this.#announce(tenantId, at);
    return set;
  }

  /** Returns false if there is no such price. @throws ProblemException 412 */
  async delete(id: string, { tenantId, author, ifVersion }: Change): Promise<boolean> {
    const at = new Date(this.clock.now()).toISOString();
    const deleted = await this.database.db.transaction().execute(async (tx) => {
      const row = await tx
        .selectFrom('price_overrides')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('override_id', '=', id)
        .where('deleted_at', 'is', null)
        .forUpdate()
        .executeTakeFirst();
      if (row === undefined) return false;
      const before = priceOverrideFromRow(row);
      requireVersion('price', ifVersion, before.version);
      await tx
        .updateTable('price_overrides')
        .set({ deleted_at: at, updated_at: at, version: before.version + 1 })
        .where('tenant_id', '=', tenantId)
        .where('override_id', '=', id)
        .execute();
      await recordChanges(tx, [{ tenantId, at, kind: 'price.deleted', targetId: id, author, before }]);
      return true;
    });
    if (deleted) await this.#announce(tenantId, at);
    return deleted;
  }

  /** Speeds up propagation. Without it, every gateway reads the prices again within ten seconds. */
  async #announce(tenantId: string, at: string): Promise<void> {
    try {
      await this.bus.publish(pricesChanged, { tenantId, at });
    } catch (err) {
      this.logger.warn({ err, tenantId }, 'announcing a change of prices failed');
    }
  }
}

async function findSame(
  tx: Kysely<Tables>,
  tenantId: string,
  { provider, model, fromDay }: PriceOverrideDraft,
): Promise<PriceOverride | undefined> {
  const row = await tx
    .selectFrom('price_overrides')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('provider', 'is not distinct from', provider ?? null)
    .where('model', '=', model)
    .where('from_day', '=', fromDay)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return row && priceOverrideFromRow(row);
}

async function countOf(tx: Kysely<Tables>, tenantId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('price_overrides')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenantId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(count);
}
