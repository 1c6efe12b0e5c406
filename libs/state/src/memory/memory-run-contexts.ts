import { LIFETIMES } from '../lifetimes.ts';
import type { RunContext, RunContexts } from '../run-contexts.ts';
import type { ExpiringMap } from './expiring-map.ts';
import type { MemorySnapshots } from './memory-snapshots.ts';

/** Runs that were started at this process. */
export class MemoryRunContexts implements RunContexts {
  readonly #contexts: ExpiringMap<string>;

  constructor(snapshots: MemorySnapshots) {
    this.#contexts = snapshots.map('run-contexts');
  }

  async keep(tenantId: string, runId: string, context: RunContext): Promise<void> {
    const name = JSON.stringify([tenantId, runId]);
    if (this.#contexts.get(name) === undefined) this.#contexts.set(name, JSON.stringify(context), LIFETIMES.run);
  }

  async find(tenantId: string, runId: string): Promise<RunContext | undefined> {
    const kept = this.#contexts.get(JSON.stringify([tenantId, runId]));
    return kept === undefined ? undefined : (JSON.parse(kept) as RunContext);
  }
}
