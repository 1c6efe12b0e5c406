import type { ControlOrder, ControlScope, Directive } from '@agentlens/contracts';

/** What holds for a run now. `killed` outweighs `paused`; what was ordered more narrowly changes nothing about that. */
export interface ControlState {
  readonly kind: 'none' | 'paused' | 'killed';
  /** Of the order or directive that decides; absent where nothing stands against the run. */
  readonly because?: {
    readonly id: string;
    readonly scope: ControlScope;
    readonly reason: string;
    readonly since: string;
    /** Of an order that was given for a run this one came from: the id of that run. */
    readonly ancestor?: string;
  };
  readonly modelOverride: Directive['modelOverride'];
}

const SEVERITY = { none: 0, paused: 1, killed: 2 } as const;
const NOTHING: ControlState = { kind: 'none', modelOverride: null };

/**
 * The orders that touch a run (any of them may be absent) and its agent's directive, as one answer.
 * @param inherited orders for the runs it came from, nearest first
 */
export function controlStateOf(
  orders: readonly (ControlOrder | undefined)[],
  directive: Directive | undefined,
  inherited: readonly (ControlOrder | undefined)[] = [],
): ControlState {
  let worst: ControlState = directive === undefined ? NOTHING : ofDirective(directive);
  for (const [at, order] of [...orders, ...inherited].entries()) {
    if (order === undefined || order.state === 'running') continue;
    if (SEVERITY[order.state] <= SEVERITY[worst.kind]) continue;
    const { id, scope, reason, issuedAt: since } = order;
    const ancestor = at < orders.length ? {} : { ancestor: order.scopeId };
    worst = {
      kind: order.state,
      because: { id, scope, reason, since, ...ancestor },
      modelOverride: worst.modelOverride,
    };
  }
  return worst;
}

/** For the agent that is stopped. */
export function controlStateMessage({ kind, because }: ControlState): string {
  const what = because?.ancestor === undefined ? `This ${because?.scope ?? 'run'}` : ancestorText(because.ancestor);
  return `${what} is ${kind}${because?.reason ? `: ${because.reason}` : ''}`;
}

function ancestorText(runId: string): string {
  return `Run ${runId}, from which this one came,`;
}

function ofDirective({ id, paused, modelOverride }: Directive): ControlState {
  if (paused === null) return { kind: 'none', modelOverride };
  return { kind: 'paused', because: { id, scope: 'agent', reason: paused.reason, since: paused.at }, modelOverride };
}

/** What holds where a run belongs to several: the graver outweighs the other. */
export function graver(one: ControlState, other: ControlState): ControlState {
  return SEVERITY[other.kind] > SEVERITY[one.kind] ? other : one;
}
