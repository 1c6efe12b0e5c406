import type { ControlOrder, ControlScope, DecisionRequest, Directive, OverTreeLimit } from '@agentlens/contracts';
import type { ControlBoard } from './control-board.ts';

/** Control state of a run. `killed` outranks `paused`, regardless of the scope of the orders. */
export interface ControlState {
  readonly kind: 'none' | 'paused' | 'killed';
  /** The order or directive that decides. Absent if nothing restricts the run. */
  readonly because?: {
    readonly id: string;
    readonly scope: ControlScope;
    readonly reason: string;
    readonly since: string;
    /** For an order that was inherited: the id of the ancestor run that it was given for. */
    readonly ancestor?: string;
    /** The reason is a whole message: a limit stops the run, not a person. */
    readonly isLimit?: true;
  };
  readonly modelOverride: Directive['modelOverride'];
}

const SEVERITY = { none: 0, paused: 1, killed: 2 } as const;
const NOTHING: ControlState = { kind: 'none', modelOverride: null };

/**
 * Combines the orders that apply to a run (any of them may be absent) with its agent's directive.
 * @param inherited orders for the run's ancestors, nearest first
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

/** Message for the stopped agent. */
export function controlStateMessage({ kind, because }: ControlState): string {
  if (because?.isLimit) return because.reason;
  const what = because?.ancestor === undefined ? `This ${because?.scope ?? 'run'}` : ancestorText(because.ancestor);
  return `${what} is ${kind}${because?.reason ? `: ${because.reason}` : ''}`;
}

function ancestorText(runId: string): string {
  return `Run ${runId}, from which this one came,`;
}

/** A run as a question or a call about it names it. */
type RunOfOrders = Pick<
  DecisionRequest,
  'tenantId' | 'agentId' | 'runId' | 'ancestors' | 'startedAs' | 'overTreeLimit' | 'receivedAt'
>;

/**
 * The most severe state of a run: by the orders for the agent that started it, for the agent that asks, and by the
 * limits of its tree. Gateways ask for it first; the evaluator checks it again.
 */
export function stateOfRun(orders: Pick<ControlBoard, 'stateOf'>, run: RunOfOrders): ControlState {
  const { tenantId, agentId, runId, ancestors, startedAs } = run;
  const asking = orders.stateOf(tenantId, agentId, runId, ancestors);
  const starter = startedAs?.agentId;
  if (starter === undefined || starter === agentId) return withTreeLimit(asking, run);
  return withTreeLimit(moreSevere(orders.stateOf(tenantId, starter, runId, ancestors), asking), run);
}

/** The state of a run, also considering the limit of its tree that it exceeds. */
function withTreeLimit(state: ControlState, { overTreeLimit, receivedAt }: RunOfOrders): ControlState {
  if (overTreeLimit === undefined) return state;
  const id = `tree:${overTreeLimit.limit}`;
  const reason = treeLimitMessage(overTreeLimit);
  const because = { id, scope: 'run', reason, since: receivedAt, isLimit: true } as const;
  return moreSevere(state, { kind: 'killed', because, modelOverride: state.modelOverride });
}

function treeLimitMessage({ limit, max }: OverTreeLimit): string {
  switch (limit) {
    case 'depth':
      return `This run is too deep in its run tree: a run may have at most ${max} ancestors (maxDepth)`;
    case 'children':
      return `Its parent has started too many runs: a run may start at most ${max} (maxChildren)`;
    case 'runs':
      return `Its run tree has too many runs: a tree may have at most ${max} (maxRuns)`;
  }
}

function ofDirective({ id, paused, modelOverride }: Directive): ControlState {
  if (paused === null) return { kind: 'none', modelOverride };
  return { kind: 'paused', because: { id, scope: 'agent', reason: paused.reason, since: paused.at }, modelOverride };
}

/** Returns the more severe state, for example of two agents that share a run. */
function moreSevere(one: ControlState, other: ControlState): ControlState {
  return SEVERITY[other.kind] > SEVERITY[one.kind] ? other : one;
}
