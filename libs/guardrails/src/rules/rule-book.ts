import { EVENT_KINDS, type EventKind } from '@agentlens/contracts';
import type { ActiveRule, EventRule, TickRule } from './active-rule.ts';

/** Rules of one tenant, most important first. */
interface Shelf {
  readonly everyAgent: EventRule[];
  readonly byAgent: Map<string, EventRule[]>;
}

interface TenantRules {
  /** Rules that listen to every kind; most do, and standing on one shelf instead of fourteen they take little room. */
  readonly everyKind: Shelf;
  readonly byKind: ReadonlyMap<EventKind, Shelf>;
  readonly ticking: readonly TickRule[];
  readonly count: number;
}

const NONE: readonly EventRule[] = [];

/**
 * The active rules of all tenants, indexed by tenant, event kind and agent: finding the rules of an event costs the
 * same however many rules cannot match. Immutable; one tenant is replaced at a time.
 */
export class RuleBook {
  static readonly EMPTY = new RuleBook(new Map());
  readonly #tenants: ReadonlyMap<string, TenantRules>;

  private constructor(tenants: ReadonlyMap<string, TenantRules>) {
    this.#tenants = tenants;
  }

  /** This book with exactly `rules` as the rules of the tenant. */
  withTenant(tenantId: string, rules: readonly ActiveRule[]): RuleBook {
    return this.withTenants(new Map([[tenantId, rules]]));
  }

  withTenants(replaced: ReadonlyMap<string, readonly ActiveRule[]>): RuleBook {
    const tenants = new Map(this.#tenants);
    for (const [tenantId, rules] of replaced) {
      if (rules.length === 0) tenants.delete(tenantId);
      else tenants.set(tenantId, index(rules));
    }
    return new RuleBook(tenants);
  }

  /** The rules to measure on an event of this kind of this agent, most important first. */
  matching(tenantId: string, agentId: string, kind: EventKind): readonly EventRule[] {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) return NONE;
    return merged([...onShelf(tenant.everyKind, agentId), ...onShelf(tenant.byKind.get(kind), agentId)]);
  }

  /** The rules of a tenant that are looked at each minute. */
  ticking(tenantId: string): readonly TickRule[] {
    return this.#tenants.get(tenantId)?.ticking ?? [];
  }

  get tenants(): IterableIterator<string> {
    return this.#tenants.keys();
  }

  /** How many rules the book holds. */
  get size(): number {
    return [...this.#tenants.values()].reduce((sum, tenant) => sum + tenant.count, 0);
  }
}

function index(rules: readonly ActiveRule[]): TenantRules {
  const everyKind: Shelf = { everyAgent: [], byAgent: new Map() };
  const byKind = new Map<EventKind, Shelf>();
  for (const rule of [...rules].sort(byPriority)) {
    if (rule.cadence !== 'event') continue;
    if (rule.kinds.length === EVENT_KINDS.length) put(everyKind, rule);
    else for (const kind of rule.kinds) put(shelfOf(byKind, kind), rule);
  }
  return { everyKind, byKind, ticking: rules.filter((rule) => rule.cadence === 'tick'), count: rules.length };
}

/** The lists of a shelf that concern an agent and hold anything. */
function onShelf(shelf: Shelf | undefined, agentId: string): (readonly EventRule[])[] {
  if (shelf === undefined) return [];
  const own = shelf.byAgent.get(agentId);
  const lists = own === undefined ? [] : [own];
  return shelf.everyAgent.length === 0 ? lists : [...lists, shelf.everyAgent];
}

function merged(lists: readonly (readonly EventRule[])[]): readonly EventRule[] {
  const [only] = lists;
  if (lists.length <= 1) return only ?? NONE;
  return lists.flat().sort(byPriority);
}

function shelfOf(byKind: Map<EventKind, Shelf>, kind: EventKind): Shelf {
  const shelf = byKind.get(kind) ?? { everyAgent: [], byAgent: new Map() };
  byKind.set(kind, shelf);
  return shelf;
}

function put(shelf: Shelf, rule: EventRule): void {
  if (rule.agentId === undefined) {
    shelf.everyAgent.push(rule);
    return;
  }
  const own = shelf.byAgent.get(rule.agentId);
  if (own === undefined) shelf.byAgent.set(rule.agentId, [rule]);
  else own.push(rule);
}

function byPriority(a: ActiveRule, b: ActiveRule): number {
  return b.priority - a.priority || (a.id < b.id ? -1 : 1);
}
