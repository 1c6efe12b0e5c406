import type { OperatorOrders, OrderedState } from '../guard/operator-orders.ts';
import type { RuntimeClock } from '../runtime/runtime.ts';
import type { Lockdown } from '../wire/model.ts';
import { AgentStopped } from './agent-stopped.ts';

const KEY_REFUSED: OrderedState = { state: 'killed', id: 'api_key', reason: 'the key was refused' };
const TIME_IS_OVER: OrderedState = { state: 'killed', id: 'ttl', reason: 'its time is over' };

export interface RunControlDependencies {
  readonly runId: string;
  readonly parentRunId: string | undefined;
  readonly orders: OperatorOrders;
  readonly clock: RuntimeClock;
  /** Whether a stop aborts what runs; in shadow mode it is only told. */
  readonly enforces: boolean;
}

/** What operators, the server at the start, and the run's time to live want of it; and the signal that says so. */
export class RunControl {
  readonly #tools: RunControlDependencies;
  readonly #stop = new AbortController();
  #lockdown: Lockdown = { active: false };
  #over: OrderedState | undefined;
  #ancestors: readonly string[];

  constructor(tools: RunControlDependencies) {
    this.#tools = tools;
    this.#ancestors = tools.parentRunId === undefined ? [] : [tools.parentRunId];
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
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

  /** The server's answer to the start of the run, or to a sign of life. */
  lockDown(lockdown: Lockdown): void {
    this.#lockdown = lockdown;
    this.#ancestors = lockdown.ancestors ?? this.#ancestors;
    this.#obey();
  }

  /** An order arrived that may be about this run. Who hears orders as they are given hears all of them. */
  ordersChanged(): void {
    this.#lockdown = { active: false };
    this.#obey();
  }

  timeIsOver(): void {
    this.#end(TIME_IS_OVER, 'the time of the run is over');
  }

  /** Nothing of the run can be checked any more, and nobody but an admin can change that. */
  keyRefused(): void {
    this.#end(KEY_REFUSED, 'the key was refused');
  }

  #end(over: OrderedState, why: string): void {
    this.#over ??= over;
    if (this.#tools.enforces) this.#stop.abort(this.#stopped(why));
  }

  /** What `signal.throwIfAborted()` throws; `isAgentStopped` knows it. */
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

  #obey(): void {
    if (this.now.state === 'killed' && this.#tools.enforces) this.#stop.abort(this.#stopped('the run was stopped'));
  }
}
