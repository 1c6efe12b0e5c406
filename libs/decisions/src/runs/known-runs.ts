import { type DecisionRequest, MAX_ANCESTORS, UNKNOWN_AGENT_ID } from '@agentlens/contracts';
import { type Platform, withDeadline } from '@agentlens/platform';
import { BoundedMap, type RunContext, type RunContexts } from '@agentlens/state';

/** Maximum number of runs that this instance caches; the oldest are evicted. */
const MAX_RUNS = 20_000;
/** Maximum time that a question waits for the context of its run. A slower store is not asked for a while. */
const MAX_LOOKUP_MS = 25;
const REST_MS = 2_000;
/** A run that is unknown may still be started. */
const UNKNOWN_MS = 5_000;
/** A person named by a context may be erased meanwhile, so the store is asked again. */
const ACTOR_KNOWN_MS = 60_000;

interface Known {
  readonly context: RunContext | undefined;
  readonly untilMs: number;
}

/** `late`: the store did not answer in time. Undefined: the run was not started. */
type Found = RunContext | undefined | 'late';

/**
 * Caches the context of each run's start, which applies to every question of the run: older clients name only the
 * actor's id in a question, without tags and session. The shared store is asked at most once per run and instance, or
 * once a minute if the context names an actor.
 */
export class KnownRuns {
  readonly #runs = new BoundedMap<Known>(MAX_RUNS);
  /** Agents with descendants of a run, as far as starts or heartbeats reached this instance. */
  readonly #descendants = new BoundedMap<Set<string>>(MAX_RUNS);
  #restUntilMs = 0;

  constructor(
    private readonly contexts: RunContexts,
    private readonly now: () => number,
    private readonly logger: Platform['logger'],
  ) {}

  /** Storing the context for other instances is best effort, because a run must start without the store too. */
  async started(tenantId: string, runId: string, context: RunContext): Promise<void> {
    const name = nameRun(tenantId, runId);
    const isNew = this.#runs.get(name)?.context === undefined;
    if (isNew) this.#remember(name, context);
    try {
      const kept = await withDeadline(this.contexts.keep(tenantId, runId, context), MAX_LOOKUP_MS);
      // The run may have been started first at another instance, as something else.
      if (isNew) this.#remember(name, kept);
    } catch (error) {
      this.#rest(error);
    }
  }

  /** The agent that started the run, if known. */
  async agentOf(tenantId: string, runId: string): Promise<string | undefined> {
    return known(await this.#contextOf(tenantId, runId))?.agentId;
  }

  async completed(request: DecisionRequest): Promise<DecisionRequest> {
    const { tenantId, runId } = request;
    const completed = withContext(request, known(await this.#contextOf(tenantId, runId)));
    const { ancestors, isComplete } = await this.#lineage(tenantId, runId);
    return {
      ...completed,
      ...(ancestors.length === 0 ? {} : { ancestors }),
      ...(isComplete ? {} : { ancestorsUnknown: true }),
    };
  }

  /**
   * The ancestors of a run, nearest first, as far as their starts are known. Runs that an agent starts without
   * reporting them are missing. Circles end.
   */
  async ancestors(tenantId: string, runId: string): Promise<string[]> {
    return (await this.#lineage(tenantId, runId)).ancestors;
  }

  /** `isComplete` is false if a lookup failed or there are more ancestors than are followed. */
  async #lineage(tenantId: string, runId: string): Promise<{ ancestors: string[]; isComplete: boolean }> {
    const found = new Set<string>();
    const own = await this.#contextOf(tenantId, runId);
    let isComplete = own !== 'late';
    let parent = known(own)?.parentRunId;
    while (parent !== undefined && parent !== runId && !found.has(parent)) {
      if (found.size === MAX_ANCESTORS) {
        isComplete = false;
        break;
      }
      found.add(parent);
      const context = await this.#contextOf(tenantId, parent);
      if (context === 'late') isComplete = false;
      parent = known(context)?.parentRunId;
    }
    const agentId = known(own)?.agentId;
    if (agentId !== undefined) for (const ancestor of found) this.#addDescendantAgent(tenantId, ancestor, agentId);
    return { ancestors: [...found], isComplete };
  }

  /** Returns true if one of these agents started the run or, as far as is known here, a descendant of it. */
  concernsAgents(tenantId: string, runId: string, agents: readonly string[]): boolean {
    const name = nameRun(tenantId, runId);
    const starter = this.#runs.get(name)?.context?.agentId;
    if (starter !== undefined && agents.includes(starter)) return true;
    return agents.some((agent) => this.#descendants.get(name)?.has(agent) === true);
  }

  #addDescendantAgent(tenantId: string, ancestor: string, agentId: string): void {
    const name = nameRun(tenantId, ancestor);
    const descendants = this.#descendants.get(name) ?? new Set<string>();
    this.#descendants.set(name, descendants.add(agentId));
  }

  async #contextOf(tenantId: string, runId: string): Promise<Found> {
    const name = nameRun(tenantId, runId);
    const cached = this.#runs.get(name);
    if (cached !== undefined && cached.untilMs > this.now()) return cached.context;
    // A context is as valid as before while the store cannot be asked whether its person was erased.
    const stale = cached?.context ?? 'late';
    if (this.#restUntilMs > this.now()) return stale;
    const found = await this.#find(tenantId, runId);
    if (found === 'late') return stale;
    const context = found ?? cached?.context;
    this.#remember(name, context);
    return context;
  }

  async #find(tenantId: string, runId: string): Promise<Found> {
    try {
      return await withDeadline(this.contexts.find(tenantId, runId), MAX_LOOKUP_MS);
    } catch (error) {
      this.#rest(error);
      return 'late';
    }
  }

  #rest(error: unknown): void {
    if (this.#restUntilMs <= this.now())
      this.logger.warn({ err: error }, 'looking up a run failed, lookups are paused');
    this.#restUntilMs = this.now() + REST_MS;
  }

  #remember(name: string, context: RunContext | undefined): void {
    this.#runs.set(name, { context, untilMs: this.now() + validMs(context) });
  }
}

function known(found: Found): RunContext | undefined {
  return found === 'late' ? undefined : found;
}

/**
 * Fills the gaps of a question from the context of its run. If they differ, both apply. The tags of another actor are
 * never used.
 */
function withContext(request: DecisionRequest, context: RunContext | undefined): DecisionRequest {
  if (context === undefined) return request;
  const { actor = context.actor, sessionId = context.sessionId } = request;
  const isSame = actor?.externalId === context.actor?.externalId;
  const agentId = request.agentId === UNKNOWN_AGENT_ID ? (context.agentId ?? request.agentId) : request.agentId;
  const startedAs = {
    ...(context.agentId === undefined || context.agentId === agentId ? {} : { agentId: context.agentId }),
    ...(context.sessionId === undefined || context.sessionId === sessionId ? {} : { sessionId: context.sessionId }),
    ...(context.actor === undefined || isSame ? {} : { actor: context.actor }),
  };
  return {
    ...request,
    agentId,
    sessionId,
    ...(Object.keys(startedAs).length === 0 ? {} : { startedAs }),
    actor: actor && isSame ? { ...context.actor, ...present(actor) } : actor,
    tags: { ...context.tags, ...request.tags },
  };
}

function present(actor: NonNullable<DecisionRequest['actor']>): NonNullable<DecisionRequest['actor']> {
  const { externalId, name, metadata } = actor;
  return { externalId, ...(name !== undefined && { name }), ...(metadata !== undefined && { metadata }) };
}

function validMs(context: RunContext | undefined): number {
  if (context === undefined) return UNKNOWN_MS;
  return context.actor === undefined ? Number.POSITIVE_INFINITY : ACTOR_KNOWN_MS;
}

function nameRun(tenantId: string, runId: string): string {
  return `${tenantId}/${runId}`;
}
