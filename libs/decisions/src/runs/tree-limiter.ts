import type { DecisionRequest, OverTreeLimit, TreeLimits } from '@agentlens/contracts';
import { type Platform, withDeadline } from '@agentlens/platform';
import { BoundedMap, type ReachedTreeLimit, type RunTrees, type TreeMember } from '@agentlens/state';
import type { KnownRuns } from './known-runs.ts';

const MAX_RUNS = 20_000;
/** Maximum time that a start or a question waits for the counts. A slower store is not asked for a while. */
const MAX_WAIT_MS = 100;
const REST_MS = 2_000;
/** A run may have been started, and kept out, at another instance. */
const ADMITTED_MS = 5_000;
/** A limit may have been raised. */
const REFUSED_MS = 1_000;

interface Run {
  readonly tenantId: string;
  readonly runId: string;
  /** Nearest first. */
  readonly ancestors: readonly string[];
}

interface Known {
  readonly reached: ReachedTreeLimit | undefined;
  readonly untilMs: number;
}

/**
 * Finds the limit of its tree that a run exceeds. The depth follows from the ancestors, so it also applies to runs
 * whose parents become known late. Children and runs are counted when a run starts; a run that started in time is
 * never kept out by them. Without the store, only the depth is limited.
 */
export class TreeLimiter {
  readonly #known = new BoundedMap<Known>(MAX_RUNS);
  #restUntilMs = 0;

  constructor(
    private readonly trees: RunTrees,
    private readonly now: () => number,
    private readonly logger: Platform['logger'],
  ) {}

  /** For a run that starts. */
  started(run: Run, limits: TreeLimits | undefined): Promise<OverTreeLimit | undefined> {
    return this.#limitOf(run, limits, (member, counted) => this.#ask(member, () => this.trees.enter(member, counted)));
  }

  /** For a run that asks or reports. */
  running(run: Run, limits: TreeLimits | undefined): Promise<OverTreeLimit | undefined> {
    return this.#limitOf(run, limits, async (member, counted) => {
      const known = this.#known.get(nameRun(member));
      if (known !== undefined && known.untilMs > this.now()) return known.reached;
      return this.#ask(member, () => this.trees.retry(member, counted));
    });
  }

  async #limitOf(
    { ancestors, ...run }: Run,
    limits: TreeLimits | undefined,
    reachedBy: (member: TreeMember, limits: TreeLimits) => Promise<ReachedTreeLimit | undefined>,
  ): Promise<OverTreeLimit | undefined> {
    const [parent, ...others] = ancestors;
    if (limits === undefined || parent === undefined) return undefined;
    const { maxDepth, maxChildren, maxRuns } = limits;
    if (maxDepth !== null && ancestors.length > maxDepth) return { limit: 'depth', max: maxDepth };
    if (maxChildren === null && maxRuns === null) return undefined;
    const limit = await reachedBy({ ...run, ancestors: [parent, ...others] }, limits);
    const max = { children: maxChildren, runs: maxRuns };
    return limit === undefined ? undefined : { limit, max: max[limit] ?? 0 };
  }

  async #ask(
    member: TreeMember,
    count: () => Promise<ReachedTreeLimit | undefined>,
  ): Promise<ReachedTreeLimit | undefined> {
    const name = nameRun(member);
    if (this.#restUntilMs > this.now()) return this.#known.get(name)?.reached;
    try {
      const reached = await withDeadline(count(), MAX_WAIT_MS);
      const untilMs = this.now() + (reached === undefined ? ADMITTED_MS : REFUSED_MS);
      this.#known.set(name, { reached, untilMs });
      return reached;
    } catch (error) {
      this.#restUntilMs = this.now() + REST_MS;
      this.logger.warn({ err: error }, 'counting the runs of a tree failed, its limits are paused');
      return this.#known.get(name)?.reached;
    }
  }
}

/** Adds to a question what is known of its run, and the limit of its tree that the run exceeds. */
export async function placeRun(
  { runs, trees }: { readonly runs: Pick<KnownRuns, 'completed'>; readonly trees: Pick<TreeLimiter, 'running'> },
  asking: DecisionRequest,
  limits: TreeLimits | undefined,
): Promise<DecisionRequest> {
  const request = await runs.completed(asking);
  const { tenantId, runId, ancestors } = request;
  if (limits === undefined || ancestors === undefined) return request;
  const overTreeLimit = await trees.running({ tenantId, runId, ancestors }, limits);
  return overTreeLimit === undefined ? request : { ...request, overTreeLimit };
}

function nameRun({ tenantId, runId }: TreeMember): string {
  return JSON.stringify([tenantId, runId]);
}
