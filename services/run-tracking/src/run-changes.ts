import { type RunChanged, runChanged } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';

/** Interval of notifications; changes in between are merged. */
const COALESCE_MS = 50;
const MAX_RUNS = 500;

/** Publishes which runs changed, per tenant, after the commit. Best effort: a reader that misses one polls. */
export class RunChanges {
  readonly #pending = new Map<string, Set<string>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly bus: Pick<EventBus, 'publish'>,
    private readonly now: () => number,
    /** Called with the number of changes that were not published. */
    private readonly onDropped: (error: unknown, runs: number) => void,
  ) {}

  add(runs: readonly (readonly [tenantId: string, runId: string])[]): void {
    if (runs.length === 0) return;
    for (const [tenantId, runId] of runs) {
      const known = this.#pending.get(tenantId);
      if (known === undefined) this.#pending.set(tenantId, new Set([runId]));
      else known.add(runId);
    }
    this.#timer ??= setTimeout(() => void this.flush(), COALESCE_MS);
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const at = new Date(this.now()).toISOString();
    const changes = [...this.#pending].flatMap(([tenantId, runIds]) => pages(tenantId, [...runIds], at));
    this.#pending.clear();
    for (const [index, change] of changes.entries()) {
      try {
        await this.bus.publish(runChanged, change);
      } catch (error) {
        const left = changes.slice(index).reduce((sum, { runIds }) => sum + runIds.length, 0);
        this.onDropped(error, left);
        return;
      }
    }
  }
}

function pages(tenantId: string, runIds: readonly string[], at: string): RunChanged[] {
  const result: RunChanged[] = [];
  for (let i = 0; i < runIds.length; i += MAX_RUNS)
    result.push({ tenantId, runIds: runIds.slice(i, i + MAX_RUNS), at });
  return result;
}
