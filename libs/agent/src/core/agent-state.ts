import { AgentError, type ErrorInfo } from './agent-error.ts';

export interface RunningCall {
  readonly toolUseId: string;
  readonly name: string;
}

export type AgentState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'processing' }
  | { readonly kind: 'waiting-for-permission'; readonly requestIds: readonly string[] }
  | { readonly kind: 'executing-tool'; readonly calls: readonly RunningCall[] }
  | { readonly kind: 'waiting-for-subagent'; readonly sessionIds: readonly string[] }
  | { readonly kind: 'done' }
  | { readonly kind: 'error'; readonly error: ErrorInfo };

/** Current activity of an agent. Calls and children run concurrently, so the state is derived from lists. */
export interface Activity {
  readonly phase: 'idle' | 'busy' | 'done' | 'error';
  readonly asks: readonly string[];
  readonly calls: readonly RunningCall[];
  readonly children: readonly string[];
  readonly error?: ErrorInfo;
}

export type StateEvent =
  | { readonly type: 'input' | 'turn-done' | 'interrupt' | 'shutdown' }
  | { readonly type: 'failed'; readonly error: ErrorInfo }
  | { readonly type: 'call-begins'; readonly call: RunningCall }
  | { readonly type: 'call-ended'; readonly toolUseId: string }
  | { readonly type: 'ask' | 'answered'; readonly requestId: string }
  | { readonly type: 'child-awaited' | 'child-complete'; readonly sessionId: string };

export const IDLE: Activity = { phase: 'idle', asks: [], calls: [], children: [] };

/** The visible state: a permission request takes precedence over running calls, and calls over children. */
export function stateOf({ phase, asks, calls, children, error }: Activity): AgentState {
  if (phase === 'error') return { kind: 'error', error: error ?? { code: 'agent_failed', message: 'unknown' } };
  if (phase !== 'busy') return { kind: phase };
  if (asks.length > 0) return { kind: 'waiting-for-permission', requestIds: asks };
  if (children.length > 0) return { kind: 'waiting-for-subagent', sessionIds: children };
  if (calls.length > 0) return { kind: 'executing-tool', calls };
  return { kind: 'processing' };
}

/**
 * The state machine of an agent.
 *
 * @throws AgentError `illegal_transition` for an event that is not allowed in this state
 */
export function transition(from: Activity, event: StateEvent): Activity {
  if (from.phase === 'done' || from.phase === 'error') throw illegal(from, event.type);
  switch (event.type) {
    case 'shutdown':
      return { ...IDLE, phase: 'done' };
    case 'failed':
      return { ...IDLE, phase: 'error', error: event.error };
    case 'input':
      if (from.phase !== 'idle') throw illegal(from, event.type);
      return { ...IDLE, phase: 'busy' };
    case 'turn-done':
      if (from.asks.length + from.calls.length + from.children.length > 0) throw illegal(from, event.type);
      return IDLE;
    case 'interrupt':
      return IDLE;
    default:
      if (from.phase !== 'busy') throw illegal(from, event.type);
      return changeLists(from, event);
  }
}

function changeLists(
  from: Activity,
  event: Exclude<StateEvent, { type: 'input' | 'turn-done' | 'interrupt' | 'shutdown' | 'failed' }>,
): Activity {
  switch (event.type) {
    case 'ask':
      return { ...from, asks: [...from.asks, event.requestId] };
    case 'answered':
      return { ...from, asks: without(from, from.asks, event.requestId, event.type) };
    case 'child-awaited':
      return { ...from, children: [...from.children, event.sessionId] };
    case 'child-complete':
      return { ...from, children: without(from, from.children, event.sessionId, event.type) };
    case 'call-begins':
      return { ...from, calls: [...from.calls, event.call] };
    case 'call-ended': {
      const calls = from.calls.filter(({ toolUseId }) => toolUseId !== event.toolUseId);
      if (calls.length === from.calls.length) throw illegal(from, event.type);
      return { ...from, calls };
    }
  }
}

function without(from: Activity, list: readonly string[], item: string, type: string): readonly string[] {
  if (!list.includes(item)) throw illegal(from, type);
  return list.filter((other) => other !== item);
}

function illegal(from: Activity, type: string): AgentError {
  return new AgentError('illegal_transition', `"${type}" is not allowed while the agent is ${stateOf(from).kind}`);
}

/** The activity for a state set by a hand-written loop; lists are kept if the state has them. */
export function activityOf(state: AgentState): Activity {
  switch (state.kind) {
    case 'idle':
      return IDLE;
    case 'done':
      return { ...IDLE, phase: 'done' };
    case 'error':
      return { ...IDLE, phase: 'error', error: state.error };
    case 'processing':
      return { ...IDLE, phase: 'busy' };
    case 'waiting-for-permission':
      return { ...IDLE, phase: 'busy', asks: state.requestIds };
    case 'executing-tool':
      return { ...IDLE, phase: 'busy', calls: state.calls };
    case 'waiting-for-subagent':
      return { ...IDLE, phase: 'busy', children: state.sessionIds };
  }
}
