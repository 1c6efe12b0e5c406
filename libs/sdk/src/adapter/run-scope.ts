import { adapterContext } from '#runtime';
import { AgentStopped } from '../run/agent-stopped.ts';
import type { Run } from '../run/run.ts';
import { bindRun, getCurrentRun } from '../run/run-context.ts';
import type { Decision } from '../wire/decision.ts';
import type { AgentMessage, LlmResponse, RunStatus } from '../wire/model.ts';
import type { AdapterToolCall, GuardOptions } from './guard-options.ts';
import { ModelCall } from './model-call.ts';
import { isAbort, stoppedBy } from './stopped-by.ts';
import { ToolCallGuard, type ToolOutcome } from './tool-call-guard.ts';

/** The part of an agent's work that the current code belongs to. Shared by all adapters in the process. */
export interface AdapterPlace {
  readonly scope: RunScope;
  /** The current run when the scope was opened. Code with a different run is not in this scope. */
  readonly outer: Run | undefined;
  /** Set inside this tool call: an agent that starts here is a child. */
  readonly callId?: string;
}

export function currentPlace(): AdapterPlace | undefined {
  return adapterContext.getStore() as AdapterPlace | undefined;
}

export function inPlace<R>(place: AdapterPlace, body: () => R): R {
  return adapterContext.run(place, body);
}

/** Tag of tools that ran at the model's provider and could not be refused. */
const PROVIDER_EXECUTED = 'provider-executed';

export interface RunScopeSettings {
  readonly options: GuardOptions;
  /** True if the adapter started the run and must end it. The user ends a run of their own. */
  readonly owned: boolean;
  /** Called after each completed call; detects agents whose model is not guarded. */
  readonly seen: (run: Run, what: 'tool' | 'model') => void;
}

/** One agent loop inside a run: requests decisions about its calls and reports them. */
export class RunScope {
  readonly run: Run;
  readonly tools: ToolCallGuard;
  readonly #settings: RunScopeSettings;
  readonly #outer: Run | undefined;
  #stopped: Decision | undefined;
  #failure: unknown;

  constructor(run: Run, settings: RunScopeSettings) {
    this.run = run;
    this.#settings = settings;
    this.#outer = getCurrentRun();
    this.tools = new ToolCallGuard({
      run,
      options: settings.options,
      stop: (decision) => {
        this.#stopped ??= decision;
      },
      enter: (callId, body) => this.enter(body, callId),
      ended: () => settings.seen(run, 'tool'),
    });
  }

  /** Aborted when the run is killed or its TTL expires. */
  get signal(): AbortSignal {
    return this.run.signal;
  }

  /** Why the loop must stop: the run was ended, or a refusal ends this loop. */
  get stopped(): Decision | undefined {
    return this.run.stopped ?? this.#stopped;
  }

  /** Combines the run's signal with the user's. */
  signalWith(other: AbortSignal | null | undefined): AbortSignal {
    return other ? AbortSignal.any([other, this.signal]) : this.signal;
  }

  /** Makes the run and this scope current during `body`; with `callId`, as code inside that tool call. */
  enter<R>(body: () => R, callId?: string): R {
    return bindRun(this.run, () => inPlace({ scope: this, outer: this.#outer, callId }, body));
  }

  /** Like `enter`, for a generator that other code iterates: each step runs inside. */
  async *stream<T, R>(items: AsyncIterator<T, R>, callId?: string): AsyncGenerator<T, R> {
    let finished = false;
    try {
      for (;;) {
        const step = await this.enter(() => items.next(), callId);
        finished = step.done === true;
        if (step.done === true) return step.value;
        yield step.value;
      }
    } finally {
      if (!finished) await this.enter(() => items.return?.(), callId);
    }
  }

  /**
   * Call before a model call. The returned `messages` are the cleaned ones, by index.
   *
   * @throws AgentStopped if the call is refused
   */
  async beginModel<M extends AgentMessage>(messages: readonly M[]): Promise<ModelCall<M>> {
    this.throwIfStopped();
    return ModelCall.begin(this.run, messages, () => this.#settings.seen(this.run, 'model'));
  }

  /**
   * A complete model call: decides, calls with the cleaned messages, and reports what `read` extracts from the
   * response.
   */
  async callModel<M extends AgentMessage, R>(
    messages: readonly M[],
    call: (cleaned: readonly M[]) => R | Promise<R>,
    about: { readonly model: LlmResponse['model']; readonly read: (answer: Awaited<R>) => Partial<LlmResponse> },
  ): Promise<Awaited<R>> {
    const begun = await this.beginModel(messages);
    let answer: Awaited<R>;
    try {
      answer = await call(begun.messages);
    } catch (error) {
      await begun.failed(about.model, error);
      throw error;
    }
    await begun.answered({ content: [], model: about.model, ...about.read(answer) });
    return answer;
  }

  /** Records a tool that ran where it could not be refused. */
  async observeTool(call: AdapterToolCall, outcome: ToolOutcome): Promise<void> {
    const { id: callId, name, args, tags = [] } = call;
    const options = { callId, tags: [...tags, ...this.tools.tagsOf(name), PROVIDER_EXECUTED] };
    await this.run.afterTool(name, args, outcome.result, outcome.durationMs, outcome.error, options);
  }

  /** @throws AgentStopped if the loop must stop */
  throwIfStopped(): void {
    const { stopped } = this;
    if (stopped !== undefined) throw new AgentStopped(stopped);
  }

  /** Remembers that the loop failed, for frameworks that report a failure before the end. */
  noteFailure(error: unknown): void {
    this.#failure ??= error ?? new Error('the agent failed');
  }

  /** The error for the caller: the AgentStopped that caused it, if there is one. */
  errorFor(error: unknown): unknown {
    const stopped = stoppedBy(error);
    if (stopped !== undefined) return stopped;
    const decision = this.run.stopped;
    const byRun = isAbort(error) || error === this.signal.reason;
    return decision !== undefined && byRun ? new AgentStopped(decision) : error;
  }

  /** Ends the run once if the adapter started it; as interrupted if it was stopped or aborted. */
  async end(status: RunStatus = 'success'): Promise<void> {
    if (this.#settings.owned) await this.run.end(this.#status(status));
  }

  #status(status: RunStatus): RunStatus {
    const failure = this.#failure;
    if (this.stopped !== undefined || isAbort(failure) || stoppedBy(failure) !== undefined) return 'interrupted';
    return failure === undefined ? status : 'error';
  }
}
