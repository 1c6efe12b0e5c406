import { callInMessage } from '../approvals/call-in-message.ts';
import type { Alert, Decision, StoredEvent, TimelineEntry } from '../api/model.ts';

type StepKind = 'model' | 'tool' | 'message' | 'alert' | 'order' | 'breaker' | 'trigger' | 'other';

/** What became of a step, as far as it is known by now. */
type StepState = 'done' | 'failed' | 'running' | 'blocked' | 'waiting' | 'point';

/** One line of a run's story: a call from its question to its end, or something that happened at one instant. */
export interface Step {
  readonly id: string;
  readonly kind: StepKind;
  readonly name: string;
  readonly detail: string;
  readonly startMs: number;
  /** Undefined while it is under way. */
  readonly endMs: number | undefined;
  readonly state: StepState;
  readonly call: StoredEvent | undefined;
  readonly result: StoredEvent | undefined;
  readonly decision: Decision | undefined;
  readonly alert: Alert | undefined;
  /** What it says, for what is no call. */
  readonly entry: TimelineEntry | undefined;
  readonly costUsd: number | undefined;
}

interface Draft {
  kind: 'model' | 'tool';
  name: string;
  at: number;
  call?: StoredEvent;
  result?: StoredEvent;
  decision?: Decision;
}

/** The steps of a run, in the order they began. Entries that are about one call become one step. */
export function storyOf(entries: readonly TimelineEntry[], isOver: boolean): Step[] {
  const calls = new Map<string, Draft>();
  const alerts = new Map<string, Alert>();
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
      const { decision } = entry;
      if (decision.phase === 'tool.after') continue;
      const kind = decision.phase === 'llm.before' ? 'model' : 'tool';
      // Asked again after a human decided, the same call has one step and its newest decision.
      draft(decision.callId ?? `decision ${decision.id}`, kind, decision.toolName ?? 'model call', at).decision =
        decision;
    } else if (entry.type === 'alert') {
      alerts.set(entry.alert.id, entry.alert);
      if (entry.moment === 'opened' && entry.alert.kind !== 'approval')
        steps.push(pointOf(entry, at, 'alert', 'Alert', entry.alert.title));
    } else if (entry.type === 'event') {
      const { event } = entry;
      const kind = CALLS[event.kind];
      if (kind === undefined) steps.push(...momentOf(entry, event, at));
      else {
        const name = kind === 'tool' ? (event.toolName ?? 'tool') : (event.model ?? 'model');
        const one = draft(event.callId ?? `unnamed ${unnamed++}`, kind, name, at);
        if (event.kind.endsWith('completed')) one.result = event;
        else one.call = event;
        one.name = name;
      }
    } else if (entry.type === 'trigger') {
      steps.push(pointOf(entry, at, 'trigger', entry.trigger.ruleName, entry.trigger.metadata.message));
    } else if (entry.type === 'order') {
      steps.push(
        pointOf(
          entry,
          at,
          'order',
          ORDERS[entry.order.state] ?? entry.order.state,
          `by ${entry.order.by}: ${entry.order.reason}`,
        ),
      );
    } else {
      steps.push(
        pointOf(
          entry,
          at,
          'breaker',
          `Breaker ${entry.breaker.state.kind.replace('_', ' ')}`,
          entry.breaker.state.kind === 'closed' ? '' : entry.breaker.state.reason,
        ),
      );
    }
  }
  for (const [id, one] of calls) steps.push(callStep(id, one, alerts, isOver));
  return steps.sort((a, b) => a.startMs - b.startMs || (a.id < b.id ? -1 : 1));
}

const CALLS: Readonly<Record<string, Draft['kind']>> = {
  'tool.called': 'tool',
  'tool.completed': 'tool',
  'llm.called': 'model',
  'llm.completed': 'model',
};

const ORDERS: Readonly<Record<string, string>> = { killed: 'Killed', paused: 'Paused', running: 'Resumed' };

/** Told by the run itself or doubled by a decision that is shown. */
const UNSHOWN = ['run.started', 'run.ended', 'tool.decided', 'agent.registered'];

function momentOf(entry: TimelineEntry, event: StoredEvent, at: number): Step[] {
  if (UNSHOWN.includes(event.kind)) return [];
  const text = textOf(event.payload);
  return [
    pointOf(
      entry,
      at,
      event.kind === 'message.created' || text !== '' ? 'message' : 'other',
      event.eventType,
      text,
      event.isError,
    ),
  ];
}

/** The text a payload says, whichever way it is wrapped. */
export function textOf(payload: Readonly<Record<string, unknown>>): string {
  const data =
    typeof payload.data === 'object' && payload.data !== null ? (payload.data as Record<string, unknown>) : payload;
  const said = data.content ?? data.text ?? data.message ?? data.completion ?? payload.completion;
  if (typeof said === 'string') return said;
  if (typeof said === 'object' && said !== null && 'text' in said && typeof said.text === 'string') return said.text;
  return '';
}

function pointOf(entry: TimelineEntry, at: number, kind: StepKind, name: string, detail: string, failed = false): Step {
  const nothing = { call: undefined, result: undefined, decision: undefined, costUsd: undefined };
  return {
    ...nothing,
    id: `${entry.type} ${idOf(entry)}`,
    kind,
    name,
    detail,
    startMs: at,
    endMs: at,
    state: failed ? 'failed' : 'point',
    alert: entry.type === 'alert' ? entry.alert : undefined,
    entry,
  };
}

function idOf(entry: TimelineEntry): string {
  switch (entry.type) {
    case 'event':
      return entry.event.id;
    case 'decision':
      return entry.decision.id;
    case 'trigger':
      return entry.trigger.id;
    case 'alert':
      return `${entry.alert.id} ${entry.moment}`;
    case 'order':
      return entry.order.id;
    case 'breaker':
      return `${entry.breaker.version}`;
  }
}

function callStep(
  id: string,
  { kind, name, at, call, result, decision }: Draft,
  alerts: ReadonlyMap<string, Alert>,
  isOver: boolean,
): Step {
  const alert = decision?.approvalId === undefined ? undefined : alerts.get(decision.approvalId);
  const latency = result?.usage.latencyMs ?? undefined;
  const ended = result === undefined ? undefined : Date.parse(result.timestamp);
  const began = call === undefined && ended !== undefined && latency !== undefined ? ended - latency : at;
  const state = stateOf(call, result, decision, alert, isOver);
  return {
    id,
    kind,
    name,
    detail: detailOf(call ?? result),
    startMs: Math.min(at, began),
    endMs: ended ?? (state === 'blocked' ? at : isOver ? at : undefined),
    state,
    call,
    result,
    decision,
    alert,
    entry: undefined,
    costUsd: result?.usage.costUsd ?? undefined,
  };
}

function stateOf(
  call: StoredEvent | undefined,
  result: StoredEvent | undefined,
  decision: Decision | undefined,
  alert: Alert | undefined,
  isOver: boolean,
): StepState {
  if (result !== undefined) return result.isError ? 'failed' : 'done';
  if (decision?.verdict === 'BLOCK') {
    const waits = alert !== undefined && (alert.status === 'pending' || alert.status === 'acknowledged');
    return waits && !isOver ? 'waiting' : 'blocked';
  }
  if (call === undefined && decision !== undefined) return isOver ? 'done' : 'running';
  return isOver ? 'failed' : 'running';
}

const DETAIL_LENGTH = 90;

/** The first words of what a call is about. */
function detailOf(event: StoredEvent | undefined): string {
  const args = argsOf(event);
  if (args === undefined || typeof args !== 'object' || args === null)
    return typeof args === 'string' ? args.slice(0, DETAIL_LENGTH) : '';
  const values = Object.values(args).filter((value) => typeof value === 'string' || typeof value === 'number');
  return values.join(', ').slice(0, DETAIL_LENGTH);
}

/** The arguments of a step's call: as the agent told them, else as they were shown to the human who was asked. */
export function callArgsOf({ call, result, alert }: Pick<Step, 'call' | 'result' | 'alert'>): unknown {
  return argsOf(call ?? result) ?? (alert === undefined ? undefined : callInMessage(alert.message).args);
}

/** The arguments of a call, however its client names them. */
export function argsOf(event: StoredEvent | undefined): unknown {
  const payload = event?.payload;
  return payload?.arguments ?? payload?.args ?? payload?.messages;
}

/** Equal calls one after the other, as one row. */
interface Fold {
  readonly id: string;
  readonly steps: readonly [Step, ...Step[]];
}

const LEAST_FOLDED = 3;

export function folded(steps: readonly Step[]): Fold[] {
  const folds: { id: string; key: string; steps: [Step, ...Step[]] }[] = [];
  for (const step of steps) {
    const last = folds.at(-1);
    const key =
      step.kind === 'tool'
        ? `${step.name}\0${step.detail || (step.decision?.inputsDigest ?? '')}\0${step.state}`
        : step.id;
    if (last?.key === key) last.steps.push(step);
    else folds.push({ id: step.id, key, steps: [step] });
  }
  return folds.flatMap(({ id, steps: same }): Fold[] =>
    same.length >= LEAST_FOLDED
      ? [{ id: `fold ${id}`, steps: same }]
      : same.map((step) => ({ id: step.id, steps: [step] })),
  );
}
