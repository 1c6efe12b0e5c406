import type { RunEntry } from './use-run.ts';

type StepKind = 'model' | 'tool' | 'message' | 'alert' | 'order' | 'breaker' | 'trigger' | 'other';

/** State of a step. */
type StepState = 'done' | 'failed' | 'running' | 'blocked' | 'waiting' | 'point';

/**
 * One step of a run: a call from its decision to its end, or an event at one instant. Contents of its events are loaded
 * when they are shown.
 */
export interface Step {
  readonly id: string;
  readonly kind: StepKind;
  readonly name: string;
  /** Text that needs no event contents. */
  readonly detail: string;
  readonly startMs: number;
  /** Undefined while it is running. */
  readonly endMs: number | undefined;
  readonly state: StepState;
  readonly call: RunEntry | undefined;
  readonly result: RunEntry | undefined;
  readonly decision: RunEntry | undefined;
  /** Latest state of its approval. */
  readonly approval: RunEntry | undefined;
  /** For a step that is not a call. */
  readonly entry: RunEntry | undefined;
  readonly costUsd: number | undefined;
}

interface Draft {
  kind: 'model' | 'tool';
  name: string;
  at: number;
  call?: RunEntry;
  result?: RunEntry;
  decision?: RunEntry;
  /** The decision on its result. */
  after?: RunEntry | undefined;
}

/** Steps of a run by start time. Entries of one call become one step. */
export function storyOf(entries: readonly RunEntry[], isOver: boolean): Step[] {
  const calls = new Map<string, Draft>();
  const alerts = new Map<string, RunEntry>();
  const afters = new Map<string, RunEntry>();
  const steps: Step[] = [];
  let unnamed = 0;
  const draft = (key: string, kind: Draft['kind'], name: string, at: number): Draft => {
    const known = calls.get(key);
    if (known !== undefined) return known;
    const made: Draft = { kind, name, at };
    calls.set(key, made);
    return made;
  };
  for (const entry of entries) {
    const at = Date.parse(entry.at);
    if (entry.type === 'decision') {
      if (entry.kind === 'tool.after' || entry.kind === 'llm.after') {
        afters.set(entry.callId ?? '', entry);
        continue;
      }
      const kind = entry.kind === 'llm.before' ? 'model' : 'tool';
      const name = entry.name === undefined || entry.name === entry.kind ? `${kind} call` : entry.name;
      // A call that is asked again has one step with its latest decision.
      draft(entry.callId ?? `decision ${entry.id}`, kind, name, at).decision = entry;
    } else if (entry.type === 'alert') {
      alerts.set(entry.id, entry);
      if (entry.moment === 'opened' && entry.kind !== 'approval')
        steps.push(pointOf(entry, at, 'alert', 'Alert', entry.name));
    } else if (entry.type === 'event') {
      const kind = CALLS[entry.kind ?? ''];
      if (kind === undefined) steps.push(...momentOf(entry, at));
      else {
        const name = entry.name ?? kind;
        const one = draft(entry.callId ?? `unnamed ${unnamed++}`, kind, name, at);
        if (entry.kind?.endsWith('completed')) one.result = entry;
        else one.call = entry;
        one.name = name;
      }
    } else if (entry.type === 'trigger') {
      steps.push(pointOf(entry, at, 'trigger', entry.name ?? 'Rule', entry.message));
    } else if (entry.type === 'order') {
      const name = ORDERS[entry.status ?? ''] ?? entry.status ?? 'Order';
      steps.push(pointOf(entry, at, 'order', name, `by ${entry.by ?? 'unknown'}: ${entry.message ?? ''}`));
    } else {
      steps.push(pointOf(entry, at, 'breaker', `Breaker ${entry.status?.replace('_', ' ') ?? ''}`, entry.message));
    }
  }
  for (const [id, one] of calls) steps.push(callStep(id, { ...one, after: afters.get(id) }, alerts, isOver));
  return steps.sort((a, b) => a.startMs - b.startMs || (a.id < b.id ? -1 : 1));
}

const CALLS: Readonly<Record<string, Draft['kind']>> = {
  'tool.called': 'tool',
  'tool.completed': 'tool',
  'llm.called': 'model',
  'llm.completed': 'model',
};

const ORDERS: Readonly<Record<string, string>> = { killed: 'Killed', paused: 'Paused', running: 'Resumed' };

/** Also reported by the run itself, or by a decision that is shown. */
const UNSHOWN = ['run.started', 'run.ended', 'tool.decided', 'agent.registered'];

function momentOf(entry: RunEntry, at: number): Step[] {
  if (UNSHOWN.includes(entry.kind ?? '')) return [];
  if (entry.name === 'breaker.tripped') return [pointOf(entry, at, 'breaker', 'Breaker opened in the agent')];
  const kind = entry.kind === 'message.created' ? 'message' : 'other';
  const name = kind === 'message' ? 'message' : (entry.name ?? 'event');
  return [pointOf(entry, at, kind, name, '', entry.isError)];
}

function pointOf(entry: RunEntry, at: number, kind: StepKind, name: string, detail = '', failed = false): Step {
  return {
    ...{ call: undefined, result: undefined, decision: undefined, approval: undefined, costUsd: undefined },
    id: `${entry.type} ${entry.id}${entry.moment === undefined ? '' : ` ${entry.moment}`}`,
    ...{ kind, name, detail, startMs: at, endMs: at, state: failed ? 'failed' : 'point', entry },
  };
}

function callStep(
  id: string,
  { kind, name, at, call, result, decision, after }: Draft,
  alerts: ReadonlyMap<string, RunEntry>,
  isOver: boolean,
): Step {
  const approval = decision?.approvalId === undefined ? undefined : alerts.get(decision.approvalId);
  // The model gateway sees no event of a tool, but its result.
  const end = result ?? (call === undefined ? after : undefined);
  const ended = end === undefined ? undefined : Date.parse(end.at);
  const latency = result?.durationMs;
  const began = call === undefined && ended !== undefined && latency !== undefined ? ended - latency : at;
  const known = stateOf(call, result, decision, approval, isOver);
  const state = end === undefined || end === result || known === 'blocked' ? known : stateAfter(end);
  return {
    ...{ id, kind, name, detail: '', startMs: Math.min(at, began), state, call, result, decision, approval },
    endMs: ended ?? (state === 'blocked' ? at : isOver ? at : undefined),
    entry: undefined,
    costUsd: result?.costUsd,
  };
}

function stateAfter({ verdict }: RunEntry): StepState {
  return verdict === 'BLOCK' ? 'blocked' : 'done';
}

function stateOf(
  call: RunEntry | undefined,
  result: RunEntry | undefined,
  decision: RunEntry | undefined,
  approval: RunEntry | undefined,
  isOver: boolean,
): StepState {
  if (result !== undefined) return result.isError ? 'failed' : 'done';
  if (decision?.verdict === 'BLOCK') {
    const waits = approval?.status === 'pending' || approval?.status === 'acknowledged';
    return waits && !isOver ? 'waiting' : 'blocked';
  }
  if (call === undefined && decision !== undefined) return isOver ? 'done' : 'running';
  return isOver ? 'failed' : 'running';
}

const WOULD_STOP = ['ask', 'block', 'terminate'];

/** Allowed, but a shadow rule would have stopped it. */
export function wouldHave({ decision }: Pick<Step, 'decision'>): boolean {
  return decision?.verdict === 'ALLOW' && WOULD_STOP.includes(decision.wouldHave ?? '');
}
