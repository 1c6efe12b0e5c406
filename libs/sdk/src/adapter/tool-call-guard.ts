import type { Run } from '../run/run.ts';
import type { ApprovalWait, ToolCallOptions } from '../run/run-config.ts';
import type { Decision } from '../wire/decision.ts';
import type { AdapterToolCall, GuardOptions } from './guard-options.ts';

/** Result of a call that ran. */
export interface ToolOutcome {
  readonly result?: unknown;
  /** Absent if it succeeded. */
  readonly error?: unknown;
  /** Default: measured since the decision. */
  readonly durationMs?: number;
}

/** How a call waits for a human. */
export interface CallWait {
  /** Ends the wait; the call is then not made. */
  readonly signal?: AbortSignal;
  /** Called when the wait starts; the returned function is called when it ends. */
  readonly waiting?: (pending: Decision) => () => void;
}

/** A call between its decision and its result. */
export interface OpenToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

interface Begun extends OpenToolCall {
  readonly about: ToolCallOptions;
  readonly startedAt: number;
}

export interface ToolCallGuardDependencies {
  readonly run: Run;
  readonly options: GuardOptions;
  /** Ends the loop with this refusal. */
  readonly stop: (decision: Decision) => void;
  /** Runs `body` as code inside a call. */
  readonly enter: <R>(callId: string, body: () => R) => R;
  readonly ended: () => void;
}

/** Decides about, runs and reports tool calls: as a wrapper around a function, or in two halves for hooks. */
export class ToolCallGuard {
  readonly #deps: ToolCallGuardDependencies;
  readonly #open = new Map<string, Begun>();
  /** The framework's id of an open call that repeats one that waited for a person, and its own id. */
  readonly #repeats = new Map<string, string>();

  constructor(dependencies: ToolCallGuardDependencies) {
    this.#deps = dependencies;
  }

  tagsOf(name: string): readonly string[] {
    const { tags = {} } = this.#deps.options;
    return Object.hasOwn(tags, name) ? (tags[name] ?? []) : [];
  }

  /** Calls that have not completed, oldest first. */
  get open(): readonly OpenToolCall[] {
    return [...this.#open.values()];
  }

  /** Requests the decision. On ALLOW the call is open until `after`; call the tool with `decision.args`. */
  async before(call: AdapterToolCall, wait: CallWait = {}): Promise<Decision> {
    const { run, stop } = this.#deps;
    const { name, args } = call;
    const about = this.#about(call);
    let decision = await run.beforeTool(name, args, about);
    if (decision.cause.kind === 'HITL_PENDING') decision = await this.#waited(name, decision, about, wait);
    if (decision.verdict === 'BLOCK') {
      if (decision.control === 'TERMINATE') stop(decision);
      return decision;
    }
    const { callId: id } = decision;
    if (call.id !== undefined && call.id !== id) this.#repeats.set(call.id, id);
    this.#open.set(id, { id, name, args: decision.args, about: { ...about, callId: id }, startedAt: run.elapsed() });
    return decision;
  }

  /**
   * Reports the result. On BLOCK the result must not be used. Undefined for a call that was not decided or has already
   * completed.
   */
  async after(id: string, outcome: ToolOutcome): Promise<Decision | undefined> {
    const { run, stop, ended } = this.#deps;
    const begun = this.#take(id);
    if (begun === undefined) return undefined;
    ended();
    const { name, args, about, startedAt } = begun;
    const durationMs = outcome.durationMs ?? run.elapsed() - startedAt;
    const decision = await run.afterTool(name, args, outcome.result, durationMs, outcome.error, about);
    if (decision.verdict === 'BLOCK' && decision.control === 'TERMINATE') stop(decision);
    return decision;
  }

  /** Drops a call that runs elsewhere; its result is not visible here. */
  leave(id: string): void {
    this.#take(id);
  }

  #take(id: string): Begun | undefined {
    const known = this.#repeats.get(id) ?? id;
    const begun = this.#open.get(known);
    this.#repeats.delete(id);
    this.#open.delete(known);
    return begun;
  }

  /**
   * A complete call. `execute` runs only if allowed, with the decided arguments, as code inside the call. Its
   * errors are rethrown unchanged. The return value of `refuse` replaces the result of a refused call.
   */
  async call<R, Refusal>(
    call: AdapterToolCall,
    execute: (args: unknown) => R | Promise<R>,
    refuse: (decision: Decision) => Refusal,
    wait: CallWait & { readonly failed?: (result: Awaited<R>) => unknown } = {},
  ): Promise<Awaited<R> | Refusal> {
    const decision = await this.before(call, wait);
    if (decision.verdict === 'BLOCK') return refuse(decision);
    const { callId, args } = decision;
    let result: Awaited<R>;
    try {
      result = await this.#deps.enter(callId, () => execute(args));
    } catch (error) {
      await this.after(callId, { error: error ?? new Error('the tool threw nothing') });
      throw error;
    }
    const after = await this.after(callId, { result, error: wait.failed?.(result) });
    return after?.verdict === 'BLOCK' ? refuse(after) : result;
  }

  /** Like `call`, for a tool that streams its result; the last part is the result. */
  async *stream<R, Refusal>(
    call: AdapterToolCall,
    execute: (args: unknown) => AsyncIterable<R>,
    refuse: (decision: Decision) => Refusal,
    wait: CallWait = {},
  ): AsyncGenerator<R | Refusal> {
    const decision = await this.before(call, wait);
    if (decision.verdict === 'BLOCK') return yield refuse(decision);
    const { callId, args } = decision;
    const { enter } = this.#deps;
    let result: R | undefined;
    let error: unknown = new Error('given up by its reader');
    const items = enter(callId, () => execute(args)[Symbol.asyncIterator]());
    try {
      for (;;) {
        const step = await enter(callId, () => items.next());
        if (step.done === true) break;
        result = step.value;
        yield step.value;
      }
      error = undefined;
    } catch (thrown) {
      error = thrown ?? new Error('the tool threw nothing');
      throw thrown;
    } finally {
      if (error !== undefined) await enter(callId, () => items.return?.());
      const after = await this.after(callId, { result, error });
      if (error === undefined && after?.verdict === 'BLOCK') yield refuse(after);
    }
  }

  #about({ id: callId, name, args, tags = [] }: AdapterToolCall): ToolCallOptions {
    const { subjects } = this.#deps.options;
    return {
      callId,
      tags: [...new Set([...this.tagsOf(name), ...tags])],
      ...(subjects === undefined ? {} : { subjects: subjects({ id: callId, name, args, tags }) }),
    };
  }

  async #waited(name: string, pending: Decision, about: ToolCallOptions, wait: CallWait): Promise<Decision> {
    const { run, options } = this.#deps;
    const { waitForApproval = true } = options;
    if (waitForApproval === false) return pending;
    const given: ApprovalWait = waitForApproval === true ? {} : waitForApproval;
    const over = wait.waiting?.(pending);
    try {
      return await run.waitForApproval(name, pending, { ...about, ...given, signal: wait.signal });
    } finally {
      over?.();
    }
  }
}
