import { type PriceBook, pricesChanged } from '@agentlens/contracts';
import { type Database, priceOverrideFromRow } from '@agentlens/database';
import { OwnPrices, PriceTable, TableFile } from '@agentlens/prices';
import type { Clock, Platform } from '../platform.ts';
import { TenantSettingsCache } from '../settings/tenant-settings-cache.ts';

/** Interval between looks for a newer price table. */
const TABLE_POLL_MS = 10_000;

interface PriceBooksDependencies extends Pick<Platform, 'bus' | 'logger'> {
  readonly clock: Clock;
  readonly database: Pick<Database, 'db'>;
}

/**
 * The prices of all tenants, in memory: the table, and own prices over it. Own prices of a tenant are read again when a
 * change is announced, a newer table within ten seconds. Until the first read succeeds, the shipped table applies.
 */
export class PriceBooks {
  readonly #parts: PriceBooksDependencies;
  readonly #table = new PriceTable();
  readonly #own: TenantSettingsCache<OwnPrices>;
  #timer: NodeJS.Timeout | undefined;
  #ready = false;
  #looking: Promise<void> | undefined;

  constructor(parts: PriceBooksDependencies) {
    this.#parts = parts;
    const { bus, clock, logger } = parts;
    const reader = {
      all: () => this.#all(),
      ofTenant: (id: string) => this.#ofTenant(id),
      changedSince: changes(parts),
    };
    this.#own = new TenantSettingsCache({
      ...{ name: 'own prices', bus, logger, topic: pricesChanged, reader },
      now: () => clock.now(),
    });
  }

  /** Whether own prices and the table were read. */
  get ready(): boolean {
    return this.#ready;
  }

  get table(): PriceTable {
    return this.#table;
  }

  of(tenantId: string): PriceBook {
    return this.#own.of(tenantId) ?? this.#table;
  }

  /** Reads prices; tries again in the background if the database cannot be reached. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.look(), TABLE_POLL_MS).unref();
    await this.look();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await this.#own.stop();
  }

  /** Looks for a newer table, and reads own prices if that has not succeeded yet. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((err: unknown) => this.#parts.logger.warn({ err }, 'reading prices failed, will retry'))
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #look(): Promise<void> {
    await this.#readTable();
    if (this.#ready) return;
    await this.#own.start();
    this.#ready = true;
  }

  async #readTable(): Promise<void> {
    const { db } = this.#parts.database;
    const newest = await db
      .selectFrom('price_tables')
      .select('version')
      .orderBy('loaded_at', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (newest === undefined || newest.version === this.#table.version) return;
    const row = await db
      .selectFrom('price_tables')
      .select('providers')
      .where('version', '=', newest.version)
      .executeTakeFirst();
    if (row === undefined) return;
    this.#table.load(newest.version, TableFile.parse(row.providers));
    this.#parts.logger.info({ version: newest.version }, 'price table loaded');
  }

  async #all(): Promise<ReadonlyMap<string, OwnPrices>> {
    const rows = await this.#parts.database.db
      .selectFrom('price_overrides')
      .selectAll()
      .where('deleted_at', 'is', null)
      .execute();
    const byTenant = Map.groupBy(rows.map(priceOverrideFromRow), ({ tenantId }) => tenantId);
    return new Map([...byTenant].map(([tenantId, overrides]) => [tenantId, new OwnPrices(this.#table, overrides)]));
  }

  async #ofTenant(tenantId: string): Promise<OwnPrices | undefined> {
    const rows = await this.#parts.database.db
      .selectFrom('price_overrides')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('deleted_at', 'is', null)
      .execute();
    return rows.length === 0 ? undefined : new OwnPrices(this.#table, rows.map(priceOverrideFromRow));
  }
}

function changes({ database }: Pick<PriceBooksDependencies, 'database'>) {
  return async (instant: string): Promise<readonly string[]> => {
    const rows = await database.db
      .selectFrom('price_overrides')
      .select('tenant_id')
      .distinct()
      .where('updated_at', '>=', instant)
      .execute();
    return rows.map((row) => row.tenant_id);
  };
}
