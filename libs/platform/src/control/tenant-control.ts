import type { ControlOrder, Directive } from '@agentlens/contracts';
import type { ControlItem } from './control-item.ts';
import { type ControlState, controlStateOf } from './control-state.ts';

type OrderItem = Extract<ControlItem, { kind: 'order' }>;
type DirectiveItem = Extract<ControlItem, { kind: 'directive' }>;

/** What stands in one tenant, by what it is about. */
export class TenantControl {
  readonly #orders = new Map<string, OrderItem>();
  readonly #directives = new Map<string, DirectiveItem>();

  /** Takes the item if it says more than what is held. Answers whether anything changed for agents. */
  apply(item: ControlItem): boolean {
    if (item.kind === 'directive') return takeNewer(this.#directives, item.value.agentId, item);
    return takeNewer(this.#orders, placeOf(item.value.scope, item.value.scopeId), item);
  }

  /** Forgets what stands no longer, and what was lifted so long ago that nobody is told any more. */
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

  /** What an agent's processes have to know: their directive, and the orders for the tenant, the agent and any run. */
  itemsFor(agentId: string): readonly ControlItem[] {
    const orders = [...this.#orders.values()].filter(({ value }) => concerns(value, agentId));
    const directive = this.#directives.get(agentId);
    return directive === undefined ? orders : [directive, ...orders];
  }

  /** Undefined if no order or directive with that id stands or was lifted lately. */
  isAbout(id: string, agentId: string): boolean | undefined {
    const held = [...this.#orders.values(), ...this.#directives.values()].find(({ value }) => value.id === id);
    return held === undefined ? undefined : isAddressedTo(held.value, agentId);
  }

  #order(scope: ControlOrder['scope'], scopeId: string): ControlOrder | undefined {
    return this.#orders.get(placeOf(scope, scopeId))?.value;
  }
}

/** An order for a run holds for the runs that come from it, which any agent of the tenant may have. */
export function concerns(value: ControlOrder | Directive, agentId: string): boolean {
  if (!('scope' in value)) return value.agentId === agentId;
  if (value.scope === 'agent') return value.scopeId === agentId;
  return true;
}

/** Whether the agent's own processes are to carry it out; a run whose agent is not known may be any agent's. */
export function isAddressedTo(value: ControlOrder | Directive, agentId: string): boolean {
  if (!('scope' in value) || value.scope !== 'run') return concerns(value, agentId);
  return value.agentId === undefined || value.agentId === agentId;
}

function placeOf(scope: ControlOrder['scope'], scopeId: string): string {
  return `${scope}/${scopeId}`;
}

/** An item read from the table gets its sequence when the stream hands over the same version; nobody need hear of it. */
function takeNewer<I extends ControlItem>(held: Map<string, I>, place: string, item: I): boolean {
  const before = held.get(place);
  if (before === undefined || before.value.version < item.value.version) {
    held.set(place, item);
    return true;
  }
  if (before.value.version === item.value.version && before.sequence === 0 && item.sequence > 0) held.set(place, item);
  return false;
}
