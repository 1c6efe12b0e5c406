import type { AgentEvent, Budget, ControlOrder, EventBatch, Usage } from '@agentlens/contracts';
import type { Spending, TreeLink } from '@agentlens/guardrails';
import { BackgroundWork } from '@agentlens/messaging';
import type { Clock, Platform, TenantSettingsCache } from '@agentlens/platform';
import { applying, holderOfOrder, holderOfRun, reservationOf } from './accounts.ts';
import { HELD_MS } from './budget.service.ts';
import type { LedgerWriter } from './ledger-writer.ts';
import type { SeededBudgetStore } from './seeded-budget-store.ts';
import type { UnpricedAlerts } from './unpriced-alerts.ts';

interface EventSpenderDependencies {
  readonly budgetStore: Pick<SeededBudgetStore, 'spend' | 'noteSessions' | 'joinTrees' | 'release'>;
  readonly budgets: Pick<TenantSettingsCache<readonly Budget[]>, 'of'>;
  readonly unpriced: Pick<UnpricedAlerts, 'report'>;
  readonly now: () => number;
  /** Writes to the ledger before events are acknowledged: the store dies with this process. */
  readonly ledger?: Pick<LedgerWriter, 'write'>;
}

/**
 * Charges the costs that events report, each event once. A model call settles the reservation of its question; any
 * other cost is charged to every budget that applies. What a run still holds is released when it ends.
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
    const ended = new Set(batch.events.flatMap(({ kind, runId }) => (kind === 'run.ended' ? [runId] : [])));
    if (charged.length > 0) await this.#charge(tenantId, charged);
    // After the charges, so that calls of the batch settle what they reserved.
    await this.#parts.budgetStore.release(tenantId, Array.from(ended, holderOfRun));
  }

  async #charge(tenantId: string, charged: readonly Charged[]): Promise<void> {
    await this.#parts.budgetStore.spend(
      tenantId,
      charged.map(({ spending }) => spending),
      this.#parts.now(),
    );
    await this.#parts.ledger?.write(tenantId);
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

interface OrderReleasesDependencies {
  readonly budgetStore: Pick<SeededBudgetStore, 'release'>;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/** Releases what killed runs reserved at once: they make no more calls. */
export class OrderReleases {
  readonly #parts: OrderReleasesDependencies;
  readonly #releasing = new BackgroundWork();

  constructor(parts: OrderReleasesDependencies) {
    this.#parts = parts;
  }

  /** Never throws. */
  ordered({ tenantId, state, scope, scopeId, issuedAt }: ControlOrder): void {
    const { budgetStore, clock, logger } = this.#parts;
    if (state !== 'killed' || clock.now() - Date.parse(issuedAt) > HELD_MS) return;
    const released = budgetStore
      .release(tenantId, [holderOfOrder({ scope, scopeId })])
      .catch((err: unknown) => logger.warn({ err, tenantId }, 'releasing the budgets of killed runs failed'));
    this.#releasing.add(released);
  }

  async stop(): Promise<void> {
    await this.#releasing.ended();
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

interface Charged {
  readonly event: AgentEvent;
  readonly spending: Spending;
  readonly drawsOn: readonly Budget[];
}

/** Returns null if the event settles no reservation and costs nothing. */
function spendingOf(
  event: AgentEvent,
  budgets: readonly Budget[],
  tenantId: string,
  arrivedMs: number,
): Charged | null {
  const { id, agentId, runId, sessionId, callId, kind, usage } = event;
  const ends = kind === 'llm.completed' && callId !== undefined;
  const isUnpriced = isUnpricedCall(event);
  const costUsd = usage?.costUsd ?? (isUnbilledCall(event) ? 0 : null);
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

/** True if the call was billed but its price is unknown: it then counts an estimate. */
function isUnpricedCall(event: AgentEvent): boolean {
  const { kind, callId, usage } = event;
  if (isUnbilledCall(event)) return false;
  const isWithoutUsage = kind === 'llm.completed' && callId !== undefined && usage?.costUsd === undefined;
  return usage?.costSource === 'unpriced' || (isWithoutUsage && usage?.costSource === undefined);
}

/**
 * True for a model call that failed before it produced anything: providers bill nothing for it. A stream that broke off
 * after its first words was billed, for an unknown number of tokens.
 */
function isUnbilledCall({ kind, usage, isError, payload }: AgentEvent): boolean {
  if (kind !== 'llm.completed' || usage?.costUsd !== undefined) return false;
  const hasFailed = isError || payload.outcome === 'error' || payload.finishReason === 'error';
  return hasFailed && tokensOf(usage) === 0 && !hasAnswer(payload);
}

function tokensOf({ inputTokens = 0, outputTokens = 0, totalTokens = 0 }: Usage = {}): number {
  return inputTokens + outputTokens + totalTokens;
}

/** The answer, or the number of its parts, as each dialect records it. */
function hasAnswer({ completion, messageCount }: AgentEvent['payload']): boolean {
  return (
    (typeof completion === 'string' && completion !== '') || (typeof messageCount === 'number' && messageCount > 0)
  );
}

/** The end user, if the event names one. */
function actorOf({ metadata, payload }: AgentEvent): string | undefined {
  const named = metadata.actorExternalId ?? payload.actorExternalId;
  return typeof named === 'string' && named !== '' ? named : undefined;
}
