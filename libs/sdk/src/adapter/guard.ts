import type { AgentLensClient } from '../client.ts';
import type { Run } from '../run/run.ts';
import type { AdapterInfo, RunConfig } from '../run/run-config.ts';
import { getCurrentRun } from '../run/run-context.ts';
import type { RunStatus } from '../wire/model.ts';
import { checkGuardOptions, type GuardOptions } from './guard-options.ts';
import { currentPlace, RunScope } from './run-scope.ts';

/** Number of tool calls without a model call after which the model is considered unguarded. */
const TOOLS_WITHOUT_MODEL = 3;

/** The tool call that started a sub-agent. */
export interface ParentCall {
  readonly run: Run;
  readonly callId: string;
}

/** A framework's module and how to recognise it. */
export interface FrameworkModule {
  readonly adapter: AdapterInfo;
  readonly framework: object;
  /** Exports of the versions that this adapter was tested with. */
  readonly marks: readonly string[];
  readonly options?: GuardOptions;
  /** For example `ai 7`. */
  readonly knownAs: string;
}

interface Seen {
  tools: number;
  models: number;
}

/** One `guard(lens, framework)`: starts runs for the framework's agents and finds the run that code belongs to. */
export class Guard {
  readonly lens: AgentLensClient;
  readonly options: GuardOptions;
  readonly #adapter: AdapterInfo;
  readonly #seesModels: boolean;
  readonly #seen = new WeakMap<Run, Seen>();
  #warned = false;

  /** @throws TypeError if an option is misspelt or has an invalid value */
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
   * Creates the guard for a framework's module. If a whole module lacks the exports that this adapter was tested with,
   * the guard only observes and logs a warning.
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
   * Returns the user's own run; inside a tool call, a child of its run; otherwise a new run, which the scope ends.
   * `known` holds what the framework knows about the run, such as its session.
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

  /** Runs an agent: starts and ends the run, and throws AgentStopped if its loop was stopped. */
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

  /** Like `within`, around a generator. The run starts with its first step and ends with its last. */
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

  /** Like `within`, around a function that returns a stream and may fail before it does. */
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
   * The scope that the current code belongs to.
   *
   * @throws Error outside every run, so that a tool never runs unguarded
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
   * The call that the current code runs inside, for frameworks with only before and after hooks: the newest open call,
   * preferably one whose tool matches `prefers`.
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

  /** Logs a warning for the developer through the client's logger. */
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

/**
 * The call that the current code runs inside. `getCurrentRun` alone cannot distinguish a parent's run from the own one.
 */
export function parentHere(): ParentCall | undefined {
  const place = currentPlace();
  if (place?.callId === undefined) return undefined;
  const { run } = place.scope;
  return getCurrentRun() === run ? { run, callId: place.callId } : undefined;
}

/** The check for missing exports applies only to a whole module. */
function isWholeModule(framework: object): boolean {
  return (framework as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] === 'Module';
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Returns the framework's exports with the guarded ones replaced. Only exports that exist are replaced, so a part of a
 * module can be guarded too.
 *
 * @throws TypeError if the framework has none of them
 */
export function replaceExports<M extends object>(framework: M, guarded: Members): M {
  const found = Object.entries(guarded).filter(([name]) => typeof (framework as Members)[name] === 'function');
  if (found.length === 0)
    throw new TypeError(`guard: found none of ${Object.keys(guarded).join(', ')} in the module it was given`);
  return { ...framework, ...Object.fromEntries(found) };
}
