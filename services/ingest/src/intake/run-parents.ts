import type { ProblemDetail, TranslatedEvent } from '@agentlens/contracts';
import type { RunOwners } from '@agentlens/decisions';
import { type IdempotencyStore, StateUnavailable } from '@agentlens/state';

/** A run that names the run that started it. */
export interface NamedParent {
  readonly tenantId: string;
  readonly runId: string;
  readonly parentRunId: string;
}

interface RunParentsDependencies {
  readonly memory: Pick<IdempotencyStore, 'remember' | 'find'>;
  readonly owners: Pick<RunOwners, 'find'>;
  readonly now: () => number;
  readonly onMemoryLost: (error: unknown) => void;
}

/** Reported with an event whose parent is left out. */
export const FOREIGN_PARENT: ProblemDetail = {
  path: 'parentRunId',
  message:
    'is left out: it is not a run of the agents of this key. Start the run first with a key that may speak for both agents',
};

/**
 * Decides whether the parent that a run names counts. A child shares its parent's budget, breaker, limits and labels, so
 * a key that is bound to agents may only name runs of these agents, unless a key that may speak for the parent's agent
 * has started the child before.
 */
export class RunParents {
  readonly #parts: RunParentsDependencies;

  constructor(parts: RunParentsDependencies) {
    this.#parts = parts;
  }

  /** @param agents the agents that the key is bound to; undefined if it is not bound */
  async counts(named: NamedParent, agents: readonly string[] | undefined): Promise<boolean> {
    if (agents === undefined || named.parentRunId === named.runId) return true;
    const { memory, owners, onMemoryLost } = this.#parts;
    try {
      const owner = await owners.find(named.tenantId, named.parentRunId);
      if (owner !== undefined && agents.includes(owner)) return true;
      return (await memory.find(named.tenantId, keyOf(named))) !== undefined;
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      // Without its parent, a run would escape the orders for it.
      onMemoryLost(error);
      return true;
    }
  }

  /** Remembers a parent that counts, for later reports of the child under a bound key. Best effort. */
  async note(named: NamedParent): Promise<void> {
    const { memory, now, onMemoryLost } = this.#parts;
    try {
      await memory.remember(named.tenantId, keyOf(named), { bodyHash: 'parent', receivedAtMs: now() });
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      onMemoryLost(error);
    }
  }
}

/** The parent that an event names, in itself or, for the start of a run, in its payload. */
export function parentIn({ facts }: TranslatedEvent): string | undefined {
  const inPayload = facts.kind === 'run.started' ? facts.payload.parentRunId : undefined;
  return facts.parentRunId ?? (typeof inPayload === 'string' && inPayload !== '' ? inPayload : undefined);
}

export function withoutParent(event: TranslatedEvent): TranslatedEvent {
  const { parentRunId: _run, parentToolUseId: _use, payload, ...facts } = event.facts;
  const { parentRunId: _runInPayload, parentToolUseId: _useInPayload, ...rest } = payload;
  return { ...event, facts: { ...facts, payload: facts.kind === 'run.started' ? rest : payload } };
}

function keyOf({ runId, parentRunId }: NamedParent): string {
  return `parent:${JSON.stringify([parentRunId, runId])}`;
}
