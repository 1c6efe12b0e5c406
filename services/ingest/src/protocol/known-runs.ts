import { type DecisionRequest, MAX_ANCESTORS, UNKNOWN_AGENT_ID } from '@agentlens/contracts';
import { type Platform, withDeadline } from '@agentlens/platform';
import { BoundedMap, type RunContext, type RunContexts } from '@agentlens/state';

/** Runs this instance remembers by itself; the oldest make room. */
const MOST_RUNS = 20_000;
/** A question waits this long for what its run's start said, no longer; a store that is slower is left alone a while. */
const PATIENCE_MS = 25;
const REST_MS = 2_000;
/** A run that nobody started may be started yet. */
const UNKNOWN_MS = 5_000;

interface Known {
  readonly context: RunContext | undefined;
  readonly untilMs: number;
}

/**
 * What the start of a run said, which holds for every question about it: the client in the field names the actor's id
 * there and nothing of its tags, and no session. Asked from the shared store at most once per run and instance.
 */
export class KnownRuns {
  readonly #runs = new BoundedMap<Known>(MOST_RUNS);
  /** Agents whose runs came from a run, as far as their starts or signs of life reached this instance. */
  readonly #heirs = new BoundedMap<Set<string>>(MOST_RUNS);
  #restUntilMs = 0;

  constructor(
    private readonly contexts: RunContexts,
    private readonly now: () => number,
    private readonly logger: Platform['logger'],
  ) {}

  /** Best effort beyond this instance: a run must start without the store too. Told in time if the store answers in time. */
  async started(tenantId: string, runId: string, context: RunContext): Promise<void> {
    const name = nameOf(tenantId, runId);
    if (this.#runs.get(name)?.context === undefined) this.#remember(name, context);
    try {
      await withDeadline(this.contexts.keep(tenantId, runId, context), PATIENCE_MS);
    } catch (error) {
      this.#rest(error);
    }
  }

  /** The agent that started the run, as far as is known. */
  async agentOf(tenantId: string, runId: string): Promise<string | undefined> {
    return (await this.#contextOf(tenantId, runId))?.agentId;
  }

  async completed(request: DecisionRequest): Promise<DecisionRequest> {
    const { tenantId, runId } = request;
    const context = await this.#contextOf(tenantId, runId);
    const completed = withContext(request, context);
    const ancestors = context?.parentRunId === undefined ? [] : await this.ancestors(tenantId, runId);
    return ancestors.length === 0 ? completed : { ...completed, ancestors };
  }

  /**
   * The runs that led to this one, nearest first, as far as their starts are known: what an agent hides, or starts without
   * telling, is not among them. Circles end.
   */
  async ancestors(tenantId: string, runId: string): Promise<string[]> {
    const found = new Set<string>();
    const own = await this.#contextOf(tenantId, runId);
    let parent = own?.parentRunId;
    while (parent !== undefined && parent !== runId && !found.has(parent) && found.size < MAX_ANCESTORS) {
      found.add(parent);
      parent = (await this.#contextOf(tenantId, parent))?.parentRunId;
    }
    if (own?.agentId !== undefined) for (const ancestor of found) this.#addHeir(tenantId, ancestor, own.agentId);
    return [...found];
  }

  /** Whether the run is one of these agents', or one of them has a run that came from it, as far as is known here. */
  concernsAgents(tenantId: string, runId: string, agents: readonly string[]): boolean {
    const name = nameOf(tenantId, runId);
    const starter = this.#runs.get(name)?.context?.agentId;
    if (starter !== undefined && agents.includes(starter)) return true;
    return agents.some((agent) => this.#heirs.get(name)?.has(agent) === true);
  }

  #addHeir(tenantId: string, ancestor: string, agentId: string): void {
    const name = nameOf(tenantId, ancestor);
    const heirs = this.#heirs.get(name) ?? new Set<string>();
    this.#heirs.set(name, heirs.add(agentId));
  }

  async #contextOf(tenantId: string, runId: string): Promise<RunContext | undefined> {
    const name = nameOf(tenantId, runId);
    const known = this.#runs.get(name);
    if (known !== undefined && known.untilMs > this.now()) return known.context;
    if (this.#restUntilMs > this.now()) return undefined;
    const found = await this.#find(tenantId, runId);
    if (found === 'late') return undefined;
    this.#remember(name, found);
    return found;
  }

  async #find(tenantId: string, runId: string): Promise<RunContext | undefined | 'late'> {
    try {
      return await withDeadline(this.contexts.find(tenantId, runId), PATIENCE_MS);
    } catch (error) {
      this.#rest(error);
      return 'late';
    }
  }

  #rest(error: unknown): void {
    if (this.#restUntilMs <= this.now())
      this.logger.warn({ err: error }, 'starts of runs are not looked up for a while');
    this.#restUntilMs = this.now() + REST_MS;
  }

  #remember(name: string, context: RunContext | undefined): void {
    const untilMs = context === undefined ? this.now() + UNKNOWN_MS : Number.POSITIVE_INFINITY;
    this.#runs.set(name, { context, untilMs });
  }
}

/**
 * What the question leaves open is as the start said. Where it says something else both hold; another actor's tags are
 * never borrowed.
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

function nameOf(tenantId: string, runId: string): string {
  return `${tenantId}/${runId}`;
}
