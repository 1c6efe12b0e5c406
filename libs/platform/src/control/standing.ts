import type { ControlOrder, ControlScope, Directive } from '@agentlens/contracts';

/** What holds for a run now. `killed` outweighs `paused`; what was ordered more narrowly changes nothing about that. */
export interface Standing {
  readonly kind: 'none' | 'paused' | 'killed';
  /** Of the order or directive that decides; absent where nothing stands against the run. */
  readonly because?: {
    readonly id: string;
    readonly scope: ControlScope;
    readonly reason: string;
    readonly since: string;
  };
  readonly modelOverride: Directive['modelOverride'];
}

const SEVERITY = { none: 0, paused: 1, killed: 2 } as const;
const NOTHING: Standing = { kind: 'none', modelOverride: null };

/** The orders that touch a run (any of them may be absent) and its agent's directive, as one answer. */
export function standingOf(orders: readonly (ControlOrder | undefined)[], directive: Directive | undefined): Standing {
  let worst: Standing = directive === undefined ? NOTHING : ofDirective(directive);
  for (const order of orders) {
    if (order === undefined || order.state === 'running') continue;
    if (SEVERITY[order.state] <= SEVERITY[worst.kind]) continue;
    const { id, scope, reason, issuedAt: since } = order;
    worst = { kind: order.state, because: { id, scope, reason, since }, modelOverride: worst.modelOverride };
  }
  return worst;
}

function ofDirective({ id, paused, modelOverride }: Directive): Standing {
  if (paused === null) return { kind: 'none', modelOverride };
  return { kind: 'paused', because: { id, scope: 'agent', reason: paused.reason, since: paused.at }, modelOverride };
}
