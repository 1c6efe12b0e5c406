import { ControlOrder, controlOrdered, Directive, directiveIssued } from '@agentlens/contracts';
import { type Database, directiveFromRow, orderFromRow } from '@agentlens/database';
import { type EventBus, Repeating, type Watch } from '@agentlens/messaging';
import type { BeforeApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { Logger } from 'pino';
import type { Clock } from '../platform.ts';
import {
  advance,
  byPosition,
  type ControlItem,
  type ControlPosition,
  isAfter,
  isInForce,
  START_POSITION,
} from './control-item.ts';
import type { ControlState } from './control-state.ts';
import { concerns, TenantControl } from './tenant-control.ts';

/** Reads orders and directives of all tenants from the tables, which are the source of the announcements. */
export interface ControlReader {
  /** Returns all orders in force (for runs only those issued after `runsSince`) and all that changed since `since`. */
  orders(since: string, runsSince: string): Promise<readonly ControlOrder[]>;
  directives(since: string): Promise<readonly Directive[]>;
}

export class ControlTables implements ControlReader {
  constructor(private readonly database: Database) {}

  async orders(since: string, runsSince: string): Promise<readonly ControlOrder[]> {
    const rows = await this.database.db
      .selectFrom('control_orders')
      .selectAll()
      .where((eb) => eb.or([eb('state', '<>', 'running'), eb('issued_at', '>=', since)]))
      .where((eb) => eb.or([eb('scope', '<>', 'run'), eb('issued_at', '>', runsSince)]))
      .execute();
    return rows.map((row) => ControlOrder.parse(orderFromRow(row)));
  }

  async directives(since: string): Promise<readonly Directive[]> {
    const rows = await this.database.db
      .selectFrom('agent_directives')
      .selectAll()
      .where((eb) =>
        eb.or([eb('paused_at', 'is not', null), eb('model_override', 'is not', null), eb('issued_at', '>=', since)]),
      )
      .execute();
    return rows.map((row) => Directive.parse(directiveFromRow(row)));
  }
}

const RETRY_MS = 1_000;
/** Interval at which the tables are compared, because announcements are delivered at most once. */
const COMPARE_MS = 30_000;
/** Covers differences between clocks and the time from writing a row to its commit. */
const OVERLAP_MS = 5 * 60_000;
/** How long a lifted instruction is still sent to clients that reconnect. */
const RECENT_MS = 24 * 3_600_000;
/** How long an order for a run applies. To stop a longer run, order its agent. */
export const RUN_ORDER_MS = 7 * RECENT_MS;

interface ControlBoardOptions {
  readonly bus: EventBus;
  readonly reader: ControlReader;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  readonly retryMs?: number;
  /** Called with each order that was not known before, also while the tables are read. */
  readonly onOrder?: (order: ControlOrder) => void;
}

interface Follower {
  readonly tenantId: string;
  readonly agentId: string;
  readonly notice: (item: ControlItem) => void;
}

/**
 * In-memory copy of the orders and directives for runs, agents and tenants. Reads need no network, so every call can
 * check it. Loaded from the tables at startup and updated from the bus. Versions decide which item is newer, so order
 * and duplicates between the two sources do not matter.
 */
export class ControlBoard implements OnModuleInit, BeforeApplicationShutdown {
  readonly #options: ControlBoardOptions;
  readonly #tenants = new Map<string, TenantControl>();
  readonly #followers = new Map<string, Set<Follower>>();
  #watches: Watch[] = [];
  #loadedUpToMs: number | undefined;
  readonly #comparing = new Repeating(() => this.#readQuietly());

  constructor(options: ControlBoardOptions) {
    this.#options = options;
  }

  /** False until the tables were read once. Items from the bus alone may be incomplete. */
  get loaded(): boolean {
    return this.#loadedUpToMs !== undefined;
  }

  /** Age in ms of the last moment at which every announced order was certainly known. */
  get silentMs(): number {
    if (!this.loaded || this.#watches.length < 2) return Number.POSITIVE_INFINITY;
    return Math.max(...this.#watches.map(({ silentMs }) => silentMs));
  }

  /** Returns the most severe state (`killed`, `paused`, `none`) of the tenant, the agent, the run and its ancestors. */
  stateOf(tenantId: string, agentId: string, runId?: string, ancestors: readonly string[] = []): ControlState {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) return { kind: 'none', modelOverride: null };
    return tenant.stateOf(tenantId, agentId, runId, ancestors);
  }

  /** Number of orders and directives in memory. */
  get size(): number {
    return [...this.#tenants.values()].reduce((sum, tenant) => sum + tenant.size, 0);
  }

  /**
   * Items to send to an agent's process: without a position those in force, after a position also those lifted since.
   * Orders for runs are sent for a day.
   */
  itemsFor(tenantId: string, agentId: string, after?: ControlPosition): readonly ControlItem[] {
    const recentFromMs = this.#options.clock.now() - RECENT_MS;
    const isDue = (item: ControlItem) =>
      !isOldRun(item, recentFromMs) && (after === undefined ? isInForce(item) : isAfter(item, after));
    return [...(this.#tenants.get(tenantId)?.itemsFor(agentId) ?? [])].filter(isDue).sort(byPosition);
  }

  /** Whether an order or directive is for this agent. Returns undefined if no item with that id is known. */
  isAbout(tenantId: string, id: string, agentId: string): boolean | undefined {
    return this.#tenants.get(tenantId)?.isAbout(id, agentId);
  }

  /** Position of a client that has received all items for this agent, in force or lifted. */
  positionOf(tenantId: string, agentId: string): ControlPosition {
    const items = this.#tenants.get(tenantId)?.itemsFor(agentId) ?? [];
    return items.reduce(advance, START_POSITION);
  }

  /** Calls `notice` for every new change that concerns the agent. Returns a function that stops it. */
  follow(follower: Follower): () => void {
    const followers = this.#followers.get(follower.tenantId) ?? new Set<Follower>();
    this.#followers.set(follower.tenantId, followers.add(follower));
    return () => {
      followers.delete(follower);
      if (followers.size === 0 && this.#followers.get(follower.tenantId) === followers) {
        this.#followers.delete(follower.tenantId);
      }
    };
  }

  /** Tries once. If the bus or the database is unavailable, retries in the background. */
  async onModuleInit(): Promise<void> {
    this.#comparing.start(await this.#readQuietly());
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#comparing.stop();
    await Promise.all(this.#watches.map((watch) => watch.close()));
  }

  /** @returns when to compare again, ms */
  async #readQuietly(): Promise<number> {
    try {
      await this.#read();
      return COMPARE_MS;
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'reading orders and directives failed, will retry');
      return this.#options.retryMs ?? RETRY_MS;
    }
  }

  /** Subscribes to the bus first, so that no change is lost between reading the tables and following announcements. */
  async #read(): Promise<void> {
    const { bus, reader, clock } = this.#options;
    if (this.#watches.length === 0) {
      const orders = await bus.watch(controlOrdered, { from: 'last' }, ({ value, sequence }) =>
        this.#apply({ kind: 'order', sequence, value }),
      );
      this.#watches = [orders];
    }
    if (this.#watches.length === 1) {
      const directives = await bus.watch(directiveIssued, { from: 'last' }, ({ value, sequence }) =>
        this.#apply({ kind: 'directive', sequence, value }),
      );
      this.#watches.push(directives);
    }
    const nowMs = clock.now();
    const since = new Date(this.#loadedUpToMs === undefined ? nowMs - RECENT_MS : this.#loadedUpToMs - OVERLAP_MS);
    const [orders, directives] = await Promise.all([
      reader.orders(since.toISOString(), new Date(nowMs - RUN_ORDER_MS).toISOString()),
      reader.directives(since.toISOString()),
    ]);
    for (const value of orders) this.#apply({ kind: 'order', sequence: 0, value });
    for (const value of directives) this.#apply({ kind: 'directive', sequence: 0, value });
    this.#loadedUpToMs = nowMs;
    for (const tenant of this.#tenants.values()) tenant.forget((item) => isOver(item, nowMs));
  }

  #apply(item: ControlItem): void {
    const { tenantId } = item.value;
    // The stream keeps the last order of every run, including expired ones.
    if (isOver(item, this.#options.clock.now())) return;
    const tenant = this.#tenants.get(tenantId) ?? new TenantControl();
    this.#tenants.set(tenantId, tenant);
    if (!tenant.apply(item)) return;
    if (item.kind === 'order') this.#options.onOrder?.(item.value);
    for (const follower of this.#followers.get(tenantId) ?? []) {
      if (concerns(item.value satisfies ControlOrder | Directive, follower.agentId)) follower.notice(item);
    }
  }
}

/** Only orders for runs expire. Agents and tenants are few, and their orders apply until they are lifted. */
function isOver(item: ControlItem, nowMs: number): boolean {
  if (item.kind !== 'order' || item.value.scope !== 'run') return false;
  const ageMs = nowMs - Date.parse(item.value.issuedAt);
  return ageMs > (isInForce(item) ? RUN_ORDER_MS : RECENT_MS);
}

function isOldRun(item: ControlItem, recentFromMs: number): boolean {
  return item.kind === 'order' && item.value.scope === 'run' && Date.parse(item.value.issuedAt) < recentFromMs;
}
