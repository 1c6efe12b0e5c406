import type { OperatorOrders, OrderedState } from '../guard/operator-orders.ts';
import type { RuntimeClock } from '../runtime/runtime.ts';
import type { Lockdown } from '../wire/model.ts';
import { AgentStopped } from './agent-stopped.ts';

const KEY_REFUSED: OrderedState = { state: 'killed', id: 'api_key', reason: 'the key was refused' };
const TIMED_OUT: OrderedState = { state: 'killed', id: 'ttl', reason: 'it timed out' };

export interface RunControlDependencies {
  readonly runId: string;
  readonly parentRunId: string | undefined;
  readonly orders: OperatorOrders;
  readonly clock: RuntimeClock;
  /** Whether a stop aborts running work; in shadow mode it is only reported. */
  readonly enforces: boolean;
}

/** Combines what operators, the server at the start and the run's TTL require, and provides the abort signal. */
export class RunControl {
  readonly #tools: RunControlDependencies;
  readonly #stop = new AbortController();
  #lockdown: Lockdown = { active: false };
  #over: OrderedState | undefined;
  #ancestors: readonly string[];
  #knowsAncestors: boolean;

  constructor(tools: RunControlDependencies) {
    this.#tools = tools;
    this.#ancestors = tools.parentRunId === undefined ? [] : [tools.parentRunId];
    this.#knowsAncestors = tools.parentRunId === undefined;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The runs above this one, nearest first; undefined until the server named those of a run with a parent. */
  get ancestors(): readonly string[] | undefined {
    return this.#knowsAncestors ? this.#ancestors : undefined;
  }

  get modelOverride(): string | null {
    const heard = this.#tools.orders.modelOverride;
    return heard === undefined ? (this.#lockdown.modelOverride ?? null) : heard;
  }

  get now(): OrderedState {
    if (this.#over !== undefined) return this.#over;
    const { active, reason = '', until, kind: state = 'paused', lockdownId: id = 'lockdown' } = this.#lockdown;
    const locked = active && (until === undefined || until > this.#tools.clock.now());
    const controlState = this.#tools.orders.of(this.#tools.runId, this.#ancestors);
    return locked && controlState.state !== 'killed' ? { state, id, reason } : controlState;
  }

  /** The server's answer to the run's start or to a heartbeat. */
  lockDown(lockdown: Lockdown): void {
    this.#lockdown = lockdown;
    this.#ancestors = lockdown.ancestors ?? this.#ancestors;
    this.#knowsAncestors ||= lockdown.ancestors !== undefined;
    this.#abortIfKilled();
  }

  /** An order arrived that may concern this run. Connected processes receive all orders. */
  ordersChanged(): void {
    this.#lockdown = { active: false };
    this.#abortIfKilled();
  }

  timeIsOver(): void {
    this.#end(TIMED_OUT, 'the run timed out');
  }

  /** The run can no longer be checked, and only an admin can change that. */
  keyRefused(): void {
    this.#end(KEY_REFUSED, 'the key was refused');
  }

  #end(over: OrderedState, why: string): void {
    this.#over ??= over;
    if (this.#tools.enforces) this.#stop.abort(this.#stopped(why));
  }

  /** The error that `signal.throwIfAborted()` throws; `isAgentStopped` recognises it. */
  #stopped(why: string): AgentStopped {
    const ordered = this.now;
    const { id, reason } = ordered.state === 'running' ? { id: 'run', reason: '' } : ordered;
    const cause = { kind: 'LOCKDOWN', lockdownId: id } as const;
    return new AgentStopped({
      ...{ phase: 'llm.before', callId: '', args: {}, source: 'local', evaluatedRules: [], cause },
      ...{ verdict: 'BLOCK', control: 'TERMINATE' },
      message: reason === '' ? why : `${why}: ${reason}`,
    });
  }

  #abortIfKilled(): void {
    if (this.now.state === 'killed' && this.#tools.enforces) this.#stop.abort(this.#stopped('the run was stopped'));
  }
}
