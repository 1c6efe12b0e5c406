import { type ControlOrder, controlOrdered, type Directive, directiveIssued } from '@agentlens/contracts';
import { type EventBus, Repeating, type Subscription } from '@agentlens/messaging';
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
  NOTHING_TOLD,
} from './control-item.ts';
import type { ControlState } from './control-state.ts';
import type { ControlReader } from './control-tables.ts';
import { concerns, TenantControl } from './tenant-control.ts';

const RETRY_MS = 1_000;
/** Announcements are at most once; the tables are compared this often for one that was missed. */
const COMPARE_MS = 30_000;
/** Clocks of writers differ, and a transaction commits after the time it writes. */
const OVERLAP_MS = 5 * 60_000;
/** How long after it was lifted an instruction is still told to clients that come back. */
const RECENT_MS = 24 * 3_600_000;
/** How long an order for a run stands; what goes on for longer is stopped by an order for its agent. */
export const RUN_ORDER_MS = 7 * RECENT_MS;

interface ControlBoardOptions {
  readonly bus: EventBus;
  readonly reader: ControlReader;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  readonly retryMs?: number;
}

interface Follower {
  readonly tenantId: string;
  readonly agentId: string;
  readonly notice: (item: ControlItem) => void;
}

/**
 * What operators and rules ordered of runs, agents and tenants, in this process' memory: never asked over the network,
 * so it may be asked on every call. Read from the tables at the start and followed on the bus from then on; a version
 * decides, so it does not matter which of the two says a thing first, or twice.
 */
export class ControlBoard implements OnModuleInit, BeforeApplicationShutdown {
  readonly #options: ControlBoardOptions;
  readonly #tenants = new Map<string, TenantControl>();
  readonly #followers = new Map<string, Set<Follower>>();
  #watches: Subscription[] = [];
  #loadedUpToMs: number | undefined;
  readonly #comparing = new Repeating(() => this.#readQuietly());

  constructor(options: ControlBoardOptions) {
    this.#options = options;
  }

  /** False until the tables were read once: what the bus alone tells may be incomplete. */
  get loaded(): boolean {
    return this.#loadedUpToMs !== undefined;
  }

  /**
   * `killed` outweighs `paused` outweighs `none`, whichever of tenant, agent and run it was ordered for, or of the runs it
   * came from.
   */
  stateOf(tenantId: string, agentId: string, runId?: string, ancestors: readonly string[] = []): ControlState {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) return { kind: 'none', modelOverride: null };
    return tenant.stateOf(tenantId, agentId, runId, ancestors);
  }

  /** Orders and directives in memory. */
  get size(): number {
    return [...this.#tenants.values()].reduce((sum, tenant) => sum + tenant.size, 0);
  }

  /**
   * What an agent's process must be told: without a position everything that stands against it, after a position also
   * what was lifted since. Orders for runs are told for a day.
   */
  itemsFor(tenantId: string, agentId: string, after?: ControlPosition): readonly ControlItem[] {
    const recentFromMs = this.#options.clock.now() - RECENT_MS;
    const isTold = (item: ControlItem) =>
      !isOldRun(item, recentFromMs) && (after === undefined ? isInForce(item) : isAfter(item, after));
    return [...(this.#tenants.get(tenantId)?.itemsFor(agentId) ?? [])].filter(isTold).sort(byPosition);
  }

  /** Whether an order or directive is for this agent; undefined if none with that id is known here. */
  isAbout(tenantId: string, id: string, agentId: string): boolean | undefined {
    return this.#tenants.get(tenantId)?.isAbout(id, agentId);
  }

  /** Where a client stands that was told everything there is for this agent, in force or lifted. */
  positionOf(tenantId: string, agentId: string): ControlPosition {
    const items = this.#tenants.get(tenantId)?.itemsFor(agentId) ?? [];
    return items.reduce(advance, NOTHING_TOLD);
  }

  /** Calls `notice` with every change that concerns the agent, from now on. Answers how to stop that. */
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

  /** Tries once; where the bus or the database is away, goes on trying beside. */
  async onModuleInit(): Promise<void> {
    this.#comparing.start(await this.#readQuietly());
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#comparing.stop();
    await Promise.all(this.#watches.map((watch) => watch.close()));
  }

  /** Answers when to compare again, ms. */
  async #readQuietly(): Promise<number> {
    try {
      await this.#read();
      return COMPARE_MS;
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'orders and directives could not be read, trying again');
      return this.#options.retryMs ?? RETRY_MS;
    }
  }

  /** The bus first, so that nothing falls between what the tables say and what is announced. */
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
    // The stream keeps the last order of every run there ever was.
    if (isOver(item, this.#options.clock.now())) return;
    const tenant = this.#tenants.get(tenantId) ?? new TenantControl();
    this.#tenants.set(tenantId, tenant);
    if (!tenant.apply(item)) return;
    for (const follower of this.#followers.get(tenantId) ?? []) {
      if (concerns(item.value satisfies ControlOrder | Directive, follower.agentId)) follower.notice(item);
    }
  }
}

/** Of runs only: agents and tenants are few, and what was ordered of them stands until it is lifted. */
function isOver(item: ControlItem, nowMs: number): boolean {
  if (item.kind !== 'order' || item.value.scope !== 'run') return false;
  const ageMs = nowMs - Date.parse(item.value.issuedAt);
  return ageMs > (isInForce(item) ? RUN_ORDER_MS : RECENT_MS);
}

function isOldRun(item: ControlItem, recentFromMs: number): boolean {
  return item.kind === 'order' && item.value.scope === 'run' && Date.parse(item.value.issuedAt) < recentFromMs;
}
