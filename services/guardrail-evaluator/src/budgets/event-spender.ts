import type { AgentEvent, Budget, EventBatch } from '@agentlens/contracts';
import type { Spending, TreeLink } from '@agentlens/guardrails';
import type { TenantSettingsCache } from '@agentlens/platform';
import { applying, reservationOf } from './accounts.ts';
import type { LedgerWriter } from './ledger-writer.ts';
import type { SeededBudgetStore } from './seeded-budget-store.ts';
import type { UnpricedAlerts } from './unpriced-alerts.ts';

interface EventSpenderDependencies {
  readonly budgetStore: Pick<SeededBudgetStore, 'spend' | 'noteSessions' | 'joinTrees'>;
  readonly budgets: Pick<TenantSettingsCache<readonly Budget[]>, 'of'>;
  readonly ledger: Pick<LedgerWriter, 'touch'>;
  readonly unpriced: Pick<UnpricedAlerts, 'report'>;
  readonly now: () => number;
}

/**
 * Charges the costs that events report, each event once. A model call settles the reservation of its question; any
 * other cost is charged to every budget that applies.
 */
export class EventSpender {
  readonly #parts: EventSpenderDependencies;

  constructor(parts: EventSpenderDependencies) {
    this.#parts = parts;
  }

  /** @throws StateUnavailable if the batch has to be counted again */
  async spend(batch: EventBatch): Promise<void> {
    const { tenantId } = batch;
    const budgets = this.#parts.budgets.of(tenantId);
    if (budgets === undefined) return;
    if (budgets.some(({ scope }) => scope === 'session')) await this.#noteSessions(batch);
    if (budgets.some(({ scope }) => scope === 'tree')) await this.#joinTrees(batch);
    const arrivedMs = Date.parse(batch.receivedAt);
    const charged = batch.events.flatMap((event) => spendingOf(event, budgets, tenantId, arrivedMs) ?? []);
    if (charged.length === 0) return;
    await this.#parts.budgetStore.spend(
      tenantId,
      charged.map(({ spending }) => spending),
      this.#parts.now(),
    );
    this.#parts.ledger.touch(tenantId);
    for (const { event, spending, drawsOn } of charged) {
      if (spending.unpriced !== undefined) this.#parts.unpriced.report({ tenantId, event, budgets: drawsOn });
    }
  }

  async #joinTrees(batch: EventBatch): Promise<void> {
    const links = linksOf(batch);
    if (links.length > 0) await this.#parts.budgetStore.joinTrees(batch.tenantId, links);
  }

  async #noteSessions(batch: EventBatch): Promise<void> {
    const { tenantId } = batch;
    const runs = [...sessionsOf(batch)].map(([runId, sessionId]) => ({ runId, sessionId }));
    await this.#parts.budgetStore.noteSessions(tenantId, runs);
  }
}

/** The distinct runs of a batch that name their parent. */
function linksOf({ events }: EventBatch): TreeLink[] {
  const links = events.flatMap(({ runId, parentRunId }) =>
    parentRunId === undefined || parentRunId === runId ? [] : [{ runId, parentRunId }],
  );
  return [...new Map(links.map((link) => [JSON.stringify(link), link])).values()];
}

/** The distinct runs of a batch that name their session. */
function sessionsOf({ events }: EventBatch): Map<string, string> {
  return new Map(
    events.flatMap(({ runId, sessionId }) => (sessionId === undefined ? [] : [[runId, sessionId] as const])),
  );
}

/** Returns null if the event settles no reservation and costs nothing. */
function spendingOf(
  event: AgentEvent,
  budgets: readonly Budget[],
  tenantId: string,
  arrivedMs: number,
): { readonly event: AgentEvent; readonly spending: Spending; readonly drawsOn: readonly Budget[] } | null {
  const { id, agentId, runId, sessionId, callId, kind, usage } = event;
  const ends = kind === 'llm.completed' && callId !== undefined;
  const costUsd = usage?.costUsd ?? null;
  const isUnpriced = isUnpricedCall(event);
  if (!ends && !isUnpriced && (costUsd === null || costUsd === 0)) return null;
  const actorId = actorOf(event);
  const atMs = Math.min(Date.parse(event.occurredAt), arrivedMs);
  const applied = applying(budgets, { tenantId, agentId, runId, sessionId, actorId }, atMs);
  const spending = {
    // Clients choose event ids, so two agents may use the same one.
    eventId: `${agentId}/${id}`,
    costUsd,
    ...(isUnpriced ? { unpriced: { estimateUsd: usage?.estimatedCostUsd ?? 0 } } : {}),
    accounts: applied.map(({ account }) => account),
    ...(ends ? { reservationId: reservationOf({ runId, callId }) } : {}),
  };
  return { event, spending, drawsOn: applied.map(({ budget }) => budget) };
}

/** True if the call was billed but its price is unknown. A failed call without tokens was not billed. */
function isUnpricedCall({ usage, isError }: AgentEvent): boolean {
  return usage?.costSource === 'unpriced' && !(isError && usage.unpricedReason === 'no_tokens');
}

/** The end user, if the event names one. */
function actorOf({ metadata, payload }: AgentEvent): string | undefined {
  const named = metadata.actorExternalId ?? payload.actorExternalId;
  return typeof named === 'string' && named !== '' ? named : undefined;
}
