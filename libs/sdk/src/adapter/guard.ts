import type { AgentLensClient } from '../client.ts';
import type { Run } from '../run/run.ts';
import type { AdapterInfo, RunConfig } from '../run/run-config.ts';
import { getCurrentRun } from '../run/run-context.ts';
import type { RunStatus } from '../wire/model.ts';
import { currentPlace } from './adapter-context.ts';
import { checkGuardOptions, type GuardOptions } from './guard-options.ts';
import { RunScope } from './run-scope.ts';

/** After so many tool calls of a run without a model call, its model is not guarded. */
const TOOLS_WITHOUT_MODEL = 3;

/** The call of a tool that an agent is. */
export interface ParentCall {
  readonly run: Run;
  readonly callId: string;
}

/** A framework's module, and how to know it. */
export interface FrameworkModule {
  readonly adapter: AdapterInfo;
  readonly framework: object;
  /** Exports that the versions this adapter was proven with have. */
  readonly marks: readonly string[];
  readonly options?: GuardOptions;
  /** Such as `ai 7`. */
  readonly knownAs: string;
}

interface Seen {
  tools: number;
  models: number;
}

/** One `guard(lens, framework)`: begins the runs of a framework's agents and finds the one that code belongs to. */
export class Guard {
  readonly lens: AgentLensClient;
  readonly options: GuardOptions;
  readonly #adapter: AdapterInfo;
  readonly #seesModels: boolean;
  readonly #seen = new WeakMap<Run, Seen>();
  #warned = false;

  /** @throws TypeError if an option is misspelt or not what it takes */
  constructor(
    lens: AgentLensClient,
    adapter: AdapterInfo,
    options: GuardOptions = {},
    { seesModels = true }: { readonly seesModels?: boolean } = {},
  ) {
    checkGuardOptions(options);
    this.lens = lens;
    this.options = options;
    this.#adapter = adapter;
    this.#seesModels = seesModels;
  }

  /**
   * The guard for a framework's module. A whole module that lacks what this adapter was proven with is observed only, and
   * a warning says so.
   */
  static forFramework(
    lens: AgentLensClient,
    { adapter, framework, marks, options = {}, knownAs }: FrameworkModule,
  ): Guard {
    const missing = isWholeModule(framework) ? marks.filter((name) => !(name in framework)) : [];
    if (missing.length === 0) return new Guard(lens, adapter, options);
    const guard = new Guard(lens, adapter, { ...options, observe: 'only' });
    guard.warn(
      `this is not ${knownAs}: it exports no ${missing.join(', no ')}. Its calls are observed, none is refused`,
    );
    return guard;
  }

  /**
   * The user's own run; inside of a tool call a child of its run; elsewhere a new run, which the scope ends. `known` is
   * what the framework knows of the run, such as its session.
   */
  async open(input: unknown, parent = parentHere(), known: RunConfig = {}): Promise<RunScope> {
    const current = getCurrentRun();
    if (parent === undefined && current !== undefined) return this.#scope(current, false);
    const lineage = parent === undefined ? {} : { parentRunId: parent.run.id, parentToolUseId: parent.callId };
    const own: RunConfig = { ...known, ...this.options.run?.(input) };
    const sessionId = own.sessionId ?? parent?.run.sessionId;
    const config = { ...own, ...lineage, sessionId, adapter: this.#adapter };
    const enforceMode = this.options.observe === 'only' ? 'shadow' : undefined;
    return this.#scope(await this.lens.startRun({ enforceMode, ...config }), true);
  }

  /** Runs an agent: begins, ends, and throws AgentStopped if its loop was stopped. */
  async within<R>(
    input: unknown,
    body: (scope: RunScope) => R | Promise<R>,
    outcome: (result: Awaited<R>) => RunStatus = () => 'success',
    parent = parentHere(),
  ): Promise<Awaited<R>> {
    const scope = await this.open(input, parent);
    try {
      const result = await scope.enter(() => body(scope));
      scope.throwIfStopped();
      await scope.end(outcome(result));
      return result;
    } catch (error) {
      scope.noteFailure(error);
      await scope.end('error');
      throw scope.errorFor(error);
    }
  }

  /** The same around a generator; the run begins with its first step and ends with its last. */
  async *streaming<T, R>(
    input: unknown,
    body: (scope: RunScope) => AsyncIterator<T, R>,
    outcome: (result: R) => RunStatus = () => 'success',
    known: RunConfig = {},
    parent = parentHere(),
  ): AsyncGenerator<T, R> {
    const scope = await this.open(input, parent, known);
    return yield* this.#followed(
      scope,
      scope.enter(() => body(scope)),
      outcome,
    );
  }

  /** The same around a function that answers a stream, which may fail before there is one. */
  async started<T>(
    input: unknown,
    body: (scope: RunScope) => AsyncIterable<T> | Promise<AsyncIterable<T>>,
    outcome: () => RunStatus = () => 'success',
    parent = parentHere(),
  ): Promise<AsyncGenerator<T>> {
    const scope = await this.open(input, parent);
    try {
      const items = await scope.enter(() => body(scope));
      return this.#followed(scope, items[Symbol.asyncIterator](), outcome);
    } catch (error) {
      scope.noteFailure(error);
      await scope.end('error');
      throw scope.errorFor(error);
    }
  }

  /**
   * The scope this code belongs to.
   *
   * @throws Error outside of every run: a tool is never silently unguarded
   */
  here(): RunScope {
    const place = currentPlace();
    const current = getCurrentRun();
    if (place !== undefined) {
      const { scope } = place;
      if (current === undefined || current === scope.run || current === place.outer) return scope;
    }
    if (current === undefined)
      throw new Error(`AgentLens: a tool guarded by ${this.#adapter.name} was called outside of a run`);
    return this.#scope(current, false);
  }

  /**
   * The call that code is the inside of, for frameworks that only tell before and after it: the newest that is open,
   * of those that `prefers` names if there are any.
   */
  parentByOpenCall(prefers: (tool: string) => boolean): ParentCall | undefined {
    const inside = parentHere();
    const place = currentPlace();
    if (inside !== undefined || place === undefined) return inside;
    const { run, tools } = place.scope;
    const { open } = tools;
    const call = open.findLast(({ name }) => prefers(name)) ?? open.at(-1);
    return call === undefined ? undefined : { run, callId: call.id };
  }

  /** A warning for the programmer, by the client's logger. */
  warn(message: string): void {
    this.lens.warn(`${this.#adapter.name}: ${message}`);
  }

  async *#followed<T, R>(
    scope: RunScope,
    items: AsyncIterator<T, R>,
    outcome: (result: R) => RunStatus,
  ): AsyncGenerator<T, R> {
    let status: RunStatus = 'interrupted';
    try {
      const result = yield* scope.stream(items);
      scope.throwIfStopped();
      status = outcome(result);
      return result;
    } catch (error) {
      scope.noteFailure(error);
      throw scope.errorFor(error);
    } finally {
      await scope.end(status);
    }
  }

  #scope(run: Run, owned: boolean): RunScope {
    return new RunScope(run, { options: this.options, owned, seen: (of, what) => this.#count(of, what) });
  }

  #count(run: Run, what: 'tool' | 'model'): void {
    const seen = this.#seen.get(run) ?? { tools: 0, models: 0 };
    this.#seen.set(run, seen);
    if (what === 'tool') seen.tools++;
    else seen.models++;
    if (this.#warned || !this.#seesModels || seen.models > 0 || seen.tools < TOOLS_WITHOUT_MODEL) return;
    this.#warned = true;
    this.warn('the model of this agent is not guarded: tools were called, but no model call was seen');
  }
}

/** The call this code is the inside of. `getCurrentRun` alone cannot tell a parent's run from one's own. */
export function parentHere(): ParentCall | undefined {
  const place = currentPlace();
  if (place?.callId === undefined) return undefined;
  const { run } = place.scope;
  return getCurrentRun() === run ? { run, callId: place.callId } : undefined;
}

/** Of a part of a module nothing can be said by what it lacks. */
function isWholeModule(framework: object): boolean {
  return (framework as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] === 'Module';
}
