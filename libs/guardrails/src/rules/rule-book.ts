import { EVENT_KINDS, type EventKind } from '@agentlens/contracts';
import type { EventFeed } from '../catalog/condition-module.ts';
import { byPriority, type DecisionRule } from '../decisions/decision-rule.ts';
import type { ActiveRule, EventRule, TickRule } from './active-rule.ts';

/** Entries for one event kind of one tenant; rules by priority, highest first. */
interface AgentLists<T> {
  readonly everyAgent: T[];
  readonly byAgent: Map<string, T[]>;
}

/** Entries of one tenant. A rule that listens to every kind is one entry rather than fourteen, to save memory. */
interface TenantLists<T> {
  readonly everyKind: AgentLists<T>;
  readonly byKind: Map<EventKind, AgentLists<T>>;
}

/** Series that events feed for a rule that reads them when a call is decided. */
export interface Feeder {
  readonly rule: DecisionRule;
  readonly feed: EventFeed;
}

interface TenantRules {
  readonly measured: TenantLists<EventRule>;
  readonly fed: TenantLists<Feeder>;
  readonly ticking: readonly TickRule[];
  readonly count: number;
}

const NONE: readonly never[] = [];

/**
 * Active rules of all tenants, indexed by tenant, event kind and agent, so that the cost of finding the rules for an
 * event does not depend on rules that cannot match. Immutable; one tenant is replaced at a time.
 */
export class RuleBook {
  static readonly EMPTY = new RuleBook(new Map());
  readonly #tenants: ReadonlyMap<string, TenantRules>;

  private constructor(tenants: ReadonlyMap<string, TenantRules>) {
    this.#tenants = tenants;
  }

  /** Returns a book in which `rules` replace those of the tenant. */
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

  /** Returns the rules to measure on such an event, highest priority first. */
  matching(tenantId: string, agentId: string, kind: EventKind): readonly EventRule[] {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) return NONE;
    return merged(listsOf(tenant.measured, agentId, kind));
  }

  /** Returns the decision rules whose series such an event adds to. */
  feeding(tenantId: string, agentId: string, kind: EventKind): readonly Feeder[] {
    const tenant = this.#tenants.get(tenantId);
    return tenant === undefined ? NONE : listsOf(tenant.fed, agentId, kind).flat();
  }

  /** Returns the rules of a tenant that are measured each minute. */
  ticking(tenantId: string): readonly TickRule[] {
    return this.#tenants.get(tenantId)?.ticking ?? [];
  }

  get tenants(): IterableIterator<string> {
    return this.#tenants.keys();
  }

  /** Number of rules in the book. */
  get size(): number {
    return [...this.#tenants.values()].reduce((sum, tenant) => sum + tenant.count, 0);
  }
}

function index(rules: readonly ActiveRule[]): TenantRules {
  const measured = emptyTenantLists<EventRule>();
  const fed = emptyTenantLists<Feeder>();
  for (const rule of [...rules].sort(byPriority)) {
    if (rule.cadence === 'event') put(measured, rule.kinds, rule.agentId, rule);
    if (rule.cadence === 'call') for (const feed of rule.feeds) put(fed, feed.kinds, rule.agentId, { rule, feed });
  }
  return { measured, fed, ticking: rules.filter((rule) => rule.cadence === 'tick'), count: rules.length };
}

/** Returns the non-empty lists for an agent and an event kind. */
function listsOf<T>({ everyKind, byKind }: TenantLists<T>, agentId: string, kind: EventKind): (readonly T[])[] {
  return [...listsIn(everyKind, agentId), ...listsIn(byKind.get(kind), agentId)];
}

function listsIn<T>(entry: AgentLists<T> | undefined, agentId: string): (readonly T[])[] {
  if (entry === undefined) return [];
  const own = entry.byAgent.get(agentId);
  const lists = own === undefined ? [] : [own];
  return entry.everyAgent.length === 0 ? lists : [...lists, entry.everyAgent];
}

function merged(lists: readonly (readonly EventRule[])[]): readonly EventRule[] {
  const [only] = lists;
  if (lists.length <= 1) return only ?? NONE;
  return lists.flat().sort(byPriority);
}

function emptyTenantLists<T>(): TenantLists<T> {
  return { everyKind: { everyAgent: [], byAgent: new Map() }, byKind: new Map() };
}

function put<T>(lists: TenantLists<T>, kinds: readonly EventKind[], agentId: string | undefined, item: T): void {
  if (kinds.length === EVENT_KINDS.length) {
    addTo(lists.everyKind, agentId, item);
    return;
  }
  for (const kind of kinds) {
    const entry = lists.byKind.get(kind) ?? { everyAgent: [], byAgent: new Map() };
    lists.byKind.set(kind, entry);
    addTo(entry, agentId, item);
  }
}

function addTo<T>(entry: AgentLists<T>, agentId: string | undefined, item: T): void {
  if (agentId === undefined) {
    entry.everyAgent.push(item);
    return;
  }
  const own = entry.byAgent.get(agentId);
  if (own === undefined) entry.byAgent.set(agentId, [item]);
  else own.push(item);
}
