import { COMMANDS, type ControlOrder } from '@agentlens/contracts';
import { type ControlOrdersTable, orderFromRow } from '@agentlens/database';
import { CONTROL_LIST, type ControlFilter, createOrder, listOrders, type RequestOf } from '@agentlens/operations';
import {
  type Caller,
  CurrentCaller,
  FromRequest,
  type Platform,
  ProblemException,
  port,
  Serves,
} from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import { Commands } from '../http/commands.ts';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';

/** Which instances acknowledged an order, and how fast. */
export interface Receipts {
  readonly acknowledged: number;
  readonly fastestMs: number | null;
  readonly slowestMs: number | null;
}

/** Clocks of instances differ. An acknowledgement dated before the order counts as immediate. */
export function receiptsOf(issuedAt: string, acknowledgedAt: readonly string[]): Receipts {
  const latencies = acknowledgedAt.map((at) => Math.max(0, Date.parse(at) - Date.parse(issuedAt)));
  if (latencies.length === 0) return { acknowledged: 0, fastestMs: null, slowestMs: null };
  return { acknowledged: latencies.length, fastestMs: Math.min(...latencies), slowestMs: Math.max(...latencies) };
}

/**
 * Whether an acknowledgement of this agent belongs to the order. If the agent of a run is unknown, any agent matches.
 */
export function isAddressedTo({ scope, scopeId, agentId }: ControlOrder, agent: string): boolean {
  if (scope === 'tenant') return true;
  if (scope === 'agent') return scopeId === agent;
  return agentId === undefined || agentId === agent;
}

export interface Acknowledgement {
  readonly agentId: string;
  readonly instanceId: string;
  readonly at: string;
}

type StandingOrder = ControlOrder & Receipts;

@Injectable()
export class ControlQueries {
  constructor(private readonly reads: TenantReads) {}

  async list(tenantId: string, filter: ControlFilter): Promise<Page<StandingOrder>> {
    return this.reads.read(tenantId, async (db) => {
      const rows = await pageRows(db, tenantId, filter);
      const ids = rows.slice(0, filter.limit).map((row) => row.order_id);
      const taken = Map.groupBy(await acknowledgementRows(db, tenantId, ids), (row) => row.directive_id);
      const positionOf = (row: Selectable<ControlOrdersTable>) => ({ at: row.issued_at, id: row.order_id });
      return pageOf(CONTROL_LIST, rows, filter.limit, positionOf, (row) => {
        const order = orderFromRow(row);
        const counted = (taken.get(row.order_id) ?? []).filter((receipt) => isAddressedTo(order, receipt.agent_id));
        return {
          ...order,
          ...receiptsOf(
            row.issued_at,
            counted.map((receipt) => receipt.acknowledged_at),
          ),
        };
      });
    });
  }

  async acknowledgements(order: ControlOrder): Promise<readonly Acknowledgement[]> {
    const { tenantId, id } = order;
    const rows = await this.reads.read(tenantId, (db) => acknowledgementRows(db, tenantId, [id]));
    const counted = rows.filter((row) => isAddressedTo(order, row.agent_id));
    return counted.map((row) => ({ agentId: row.agent_id, instanceId: row.instance_id, at: row.acknowledged_at }));
  }

  async isAgent(tenantId: string, agentId: string): Promise<boolean> {
    const agent = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('agents')
        .select('agent_id')
        .where('tenant_id', '=', tenantId)
        .where('agent_id', '=', agentId)
        .executeTakeFirst(),
    );
    return agent !== undefined;
  }

  /** Returns undefined for a run that has not reported yet. */
  async agentOf(tenantId: string, runId: string): Promise<string | undefined> {
    const run = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('runs')
        .select('agent_id')
        .where('tenant_id', '=', tenantId)
        .where('run_id', '=', runId)
        .executeTakeFirst(),
    );
    return run?.agent_id;
  }
}

function pageRows(db: ReadOnly, tenantId: string, filter: ControlFilter) {
  const { scopeId = filter.id } = filter;
  let query = db.selectFrom('control_orders').selectAll().where('tenant_id', '=', tenantId);
  if (filter.scope !== undefined) query = query.where('scope', 'in', filter.scope);
  if (scopeId !== undefined) query = query.where('scope_id', '=', scopeId);
  if (filter.state !== undefined) query = query.where('state', 'in', filter.state);
  if (filter.cursor !== undefined) {
    const place = sql`(${filter.cursor.at}::timestamptz, ${filter.cursor.id})`;
    query = query.where(sql<boolean>`(issued_at, order_id) < ${place}`);
  }
  return query
    .orderBy('issued_at', 'desc')
    .orderBy('order_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}

async function acknowledgementRows(db: ReadOnly, tenantId: string, orderIds: readonly string[]) {
  if (orderIds.length === 0) return [];
  return db
    .selectFrom('control_acknowledgements')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('directive_id', 'in', orderIds)
    .execute();
}

/**
 * Poll interval for acknowledgements. It does not distort the reported latency, because each acknowledgement carries
 * its own time.
 */
const LOOK_MS = 20;

/** Watches the delivery of a control order. */
@Injectable()
export class OrderWatch {
  constructor(
    private readonly control: ControlQueries,
    @Inject(port('presence')) private readonly presence: Pick<Platform['presence'], 'list'>,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  /**
   * Returns as soon as every connected instance has acknowledged, or after `waitMs`. A run belongs to one process, so
   * for a run order the agent's other instances have nothing to acknowledge.
   */
  async follow(order: ControlOrder, waitMs: number): Promise<Receipts & { readonly connected: number | null }> {
    const listening = await this.#listening(order);
    const until = performance.now() + waitMs;
    for (;;) {
      const taken = await this.control.acknowledgements(order);
      const missing = missingOf(listening, taken);
      const isDone = missing === 0 || (order.scope === 'run' && taken.length > 0);
      if (isDone || performance.now() >= until) {
        const receipts = receiptsOf(
          order.issuedAt,
          taken.map(({ at }) => at),
        );
        // An instance that connected and acknowledged in the meantime counts as connected too.
        return { ...receipts, connected: missing === null ? null : taken.length + missing };
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(LOOK_MS, Math.max(0, until - performance.now()))));
    }
  }

  /** Returns null if the control store is unavailable. The order is valid regardless. */
  async #listening({ tenantId, scope, scopeId, agentId }: ControlOrder): Promise<ReadonlySet<string> | null> {
    try {
      const instances = await this.presence.list(tenantId, scope === 'agent' ? scopeId : agentId);
      return new Set(instances.map(keyOf));
    } catch (error) {
      this.logger.warn({ err: error }, 'cannot list connected agent instances');
      return null;
    }
  }
}

function missingOf(listening: ReadonlySet<string> | null, taken: readonly Acknowledgement[]): number | null {
  if (listening === null) return null;
  const heard = new Set(taken.map(keyOf));
  return [...listening].filter((instance) => !heard.has(instance)).length;
}

function keyOf({ agentId, instanceId }: { readonly agentId: string; readonly instanceId: string }): string {
  return JSON.stringify([agentId, instanceId]);
}

/**
 * Hint for an unknown id. The order is still accepted, because it may be given before its run or agent reports for the
 * first time.
 */
function unknown(scope: string, id: string) {
  const hint = `The ${scope} ${JSON.stringify(id)} has not reported yet. Check the spelling; GET /api/${scope}s lists known ones.`;
  return { unknownScope: true as const, hint };
}

@Controller()
export class ControlController {
  constructor(
    private readonly control: ControlQueries,
    private readonly watch: OrderWatch,
    private readonly names: KeyNames,
    private readonly commands: Commands,
  ) {}

  @Serves(createOrder)
  async order(@CurrentCaller() caller: Caller, @FromRequest() { body, headers }: RequestOf<typeof createOrder>) {
    const { tenantId } = caller;
    const { scope, id = tenantId, state, reason, waitMs } = body;
    if (scope === 'tenant' && id !== tenantId) throw new ProblemException(404, 'Tenant not found');
    const authorship = await this.names.authorOf(caller);
    const agentId = scope === 'run' ? await this.control.agentOf(tenantId, id) : undefined;
    const isKnown =
      scope === 'agent' ? await this.control.isAgent(tenantId, id) : scope === 'tenant' || agentId !== undefined;
    const ifVersion = headers['if-match'];
    const question = { tenantId, scope, scopeId: id, agentId, state, reason, ifVersion, ...authorship };
    const order = await this.commands.forward(COMMANDS.orderControl, question);
    return { order, ...(await this.watch.follow(order, waitMs)), ...(isKnown ? {} : unknown(scope, id)) };
  }

  @Serves(listOrders)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listOrders>) {
    const { items, ...page } = await this.control.list(caller.tenantId, query);
    return { orders: items, ...page };
  }
}
