import type { ControlOrder, Directive } from '@agentlens/contracts';
import type { ControlItem } from './control-item.ts';
import { type ControlState, controlStateOf } from './control-state.ts';

type OrderItem = Extract<ControlItem, { kind: 'order' }>;
type DirectiveItem = Extract<ControlItem, { kind: 'directive' }>;

/** Orders and directives of one tenant, by scope and id. */
export class TenantControl {
  readonly #orders = new Map<string, OrderItem>();
  readonly #directives = new Map<string, DirectiveItem>();

  /** Stores the item if it is newer than the stored one. Returns true if anything changed for agents. */
  apply(item: ControlItem): boolean {
    if (item.kind === 'directive') return takeNewer(this.#directives, item.value.agentId, item);
    return takeNewer(this.#orders, placeOf(item.value.scope, item.value.scopeId), item);
  }

  /** Evicts expired orders. */
  forget(isOver: (item: ControlItem) => boolean): void {
    for (const [place, item] of this.#orders) if (isOver(item)) this.#orders.delete(place);
  }

  get size(): number {
    return this.#orders.size + this.#directives.size;
  }

  stateOf(tenantId: string, agentId: string, runId: string | undefined, ancestors: readonly string[]): ControlState {
    const orders = [
      this.#order('tenant', tenantId),
      this.#order('agent', agentId),
      runId === undefined ? undefined : this.#order('run', runId),
    ];
    const inherited = ancestors.map((ancestor) => this.#order('run', ancestor));
    return controlStateOf(orders, this.#directives.get(agentId)?.value, inherited);
  }

  /** Items for an agent's processes: its directive, and the orders for the tenant, the agent and any run. */
  itemsFor(agentId: string): readonly ControlItem[] {
    const orders = [...this.#orders.values()].filter(({ value }) => concerns(value, agentId));
    const directive = this.#directives.get(agentId);
    return directive === undefined ? orders : [directive, ...orders];
  }

  /** Returns undefined if no current or recently lifted item has that id. */
  isAbout(id: string, agentId: string): boolean | undefined {
    const held = [...this.#orders.values(), ...this.#directives.values()].find(({ value }) => value.id === id);
    return held === undefined ? undefined : isAddressedTo(held.value, agentId);
  }

  #order(scope: ControlOrder['scope'], scopeId: string): ControlOrder | undefined {
    return this.#orders.get(placeOf(scope, scopeId))?.value;
  }
}

/** An order for a run also applies to its descendants, which may belong to any agent of the tenant. */
export function concerns(value: ControlOrder | Directive, agentId: string): boolean {
  if (!('scope' in value)) return value.agentId === agentId;
  if (value.scope === 'agent') return value.scopeId === agentId;
  return true;
}

/** Whether the agent's own processes have to carry out the item. If the agent of a run is unknown, any agent may. */
export function isAddressedTo(value: ControlOrder | Directive, agentId: string): boolean {
  if (!('scope' in value) || value.scope !== 'run') return concerns(value, agentId);
  return value.agentId === undefined || value.agentId === agentId;
}

function placeOf(scope: ControlOrder['scope'], scopeId: string): string {
  return `${scope}/${scopeId}`;
}

/**
 * Returns true if the item is newer. An item from the table receives its sequence when the stream delivers the same
 * version, which is not a change.
 */
function takeNewer<I extends ControlItem>(held: Map<string, I>, place: string, item: I): boolean {
  const before = held.get(place);
  if (before === undefined || before.value.version < item.value.version) {
    held.set(place, item);
    return true;
  }
  if (before.value.version === item.value.version && before.sequence === 0 && item.sequence > 0) held.set(place, item);
  return false;
}
