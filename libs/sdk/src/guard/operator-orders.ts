import { isRecord } from '../wire/decision.ts';

/** State that an operator wants a run to be in. */
export type OrderedState =
  | { readonly state: 'running' }
  | { readonly state: 'paused' | 'killed'; readonly id: string; readonly reason: string };

/** A process receives the orders for all runs of its agent, including those in other processes. */
const MAX_RUN_ORDERS = 1_000;
const SCOPES_BESIDE_RUNS = 2;
const RUN = 'run ';

const RUNNING: OrderedState = { state: 'running' };

interface Order {
  readonly version: number;
  readonly controlState: OrderedState;
}

/**
 * Operator orders received by this process. Each order is the complete desired state of one scope with a version, so
 * duplicates and reordering have no effect.
 */
export class OperatorOrders {
  readonly #orders = new Map<string, Order>();
  #directiveVersion = 0;
  #paused: OrderedState = RUNNING;
  #modelOverride: string | null = null;

  /** Model set by an operator; undefined before the first message. */
  get modelOverride(): string | null | undefined {
    return this.#directiveVersion === 0 ? undefined : this.#modelOverride;
  }

  /** State of the run including its ancestors; killed takes precedence over paused. One look-up for each. */
  of(runId: string, ancestors: readonly string[] = []): OrderedState {
    if (this.#orders.size === 0) return this.#paused;
    let found = this.#paused;
    for (const key of ['tenant', 'agent', RUN + runId, ...ancestors.map((ancestor) => RUN + ancestor)]) {
      const controlState = this.#orders.get(key)?.controlState;
      if (controlState?.state === 'killed') return controlState;
      if (controlState?.state === 'paused') found = controlState;
    }
    return found;
  }

  /** Returns the id to acknowledge; null if it is not an order or directive for this agent. */
  take(message: unknown, agentId: string): string | null {
    if (!isRecord(message) || typeof message.id !== 'string' || typeof message.version !== 'number') return null;
    if (typeof message.scope === 'string') return this.#takeOrder(message, message.id, message.version, agentId);
    if ('paused' in message || 'modelOverride' in message)
      return this.#takeDirective(message, message.id, message.version, agentId);
    return null;
  }

  #takeOrder(order: Record<string, unknown>, id: string, version: number, agentId: string): string | null {
    const { scope, scopeId, state } = order;
    if (scope === 'agent' && scopeId !== agentId) return null;
    if (scope !== 'agent' && scope !== 'tenant' && scope !== 'run') return null;
    if (state !== 'running' && state !== 'paused' && state !== 'killed') return null;
    const key = scope === 'run' ? RUN + String(scopeId) : scope;
    const known = this.#orders.get(key);
    if (known === undefined || known.version < version) {
      const controlState: OrderedState = state === 'running' ? RUNNING : { state, id, reason: text(order.reason) };
      this.#orders.set(key, { version, controlState });
      if (this.#orders.size > MAX_RUN_ORDERS + SCOPES_BESIDE_RUNS) this.#forgetOldestRun();
    }
    return id;
  }

  /** The server still enforces an order that is evicted here. */
  #forgetOldestRun(): void {
    for (const key of this.#orders.keys()) {
      if (!key.startsWith(RUN)) continue;
      this.#orders.delete(key);
      return;
    }
  }

  #takeDirective(directive: Record<string, unknown>, id: string, version: number, agentId: string): string | null {
    if (directive.agentId !== agentId) return null;
    if (version > this.#directiveVersion) {
      this.#directiveVersion = version;
      const { paused, modelOverride } = directive;
      this.#paused = isRecord(paused) ? { state: 'paused', id, reason: text(paused.reason) } : RUNNING;
      this.#modelOverride =
        isRecord(modelOverride) && typeof modelOverride.model === 'string' ? modelOverride.model : null;
    }
    return id;
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
