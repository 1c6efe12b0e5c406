import type { BreakerReason, DecisionRequest } from '@agentlens/contracts';
import {
  type AskedUsage,
  type BreakerRef,
  type BreakerStore,
  checkBreaker,
  type NextCall,
  type StoredBreaker,
} from '@agentlens/guardrails';
import type { TenantSettings } from '../settings/tenant-settings.ts';
import { type BreakerShelf, type Revision, withAsked } from './breaker-shelf.ts';
import { agentLimits, runLimits, type TenantLimits } from './limits.ts';
import { probeName } from './usage-of-event.ts';

/** So often at most a tenant is noted as asking. */
const NOTE_EVERY_MS = 3_600_000;

export type BreakerVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly ref: BreakerRef; readonly reason: BreakerReason };

export interface BreakerDeskParts {
  readonly shelf: BreakerShelf;
  readonly store: Pick<BreakerStore, 'watch'>;
  readonly limits: Pick<TenantSettings<TenantLimits>, 'of'>;
}

/** May this call begin, as far as the breakers of its run and agent go? */
export class BreakerDesk {
  readonly #parts: BreakerDeskParts;
  readonly #notedAtMs = new Map<string, number>();

  constructor(parts: BreakerDeskParts) {
    this.#parts = parts;
  }

  /**
   * @param once names the question where it can be recognised when it comes again
   * @throws StateUnavailable
   */
  async consult(request: DecisionRequest, decisionId: string, nowMs: number, once?: string): Promise<BreakerVerdict> {
    const { tenantId, agentId, runId } = request;
    this.#noteAsking(tenantId, nowMs);
    const limits = this.#parts.limits.of(tenantId);
    const ofAgent = agentLimits(limits, agentId);
    const watched = [
      { ref: { scope: 'run', scopeId: runId } as BreakerRef, limits: runLimits(limits, agentId, runId) },
    ];
    if (ofAgent !== null) watched.push({ ref: { scope: 'agent', scopeId: agentId }, limits: ofAgent });
    const next = nextCall(request, decisionId);
    const said = saidUsage(request);
    const question = {
      ...{ tenantId, agentId, refs: watched.map(({ ref }) => ref) },
      ...(said === null ? {} : { adding: { at: 0, usage: said, ...(once === undefined ? {} : { once }) } }),
    };
    return this.#parts.shelf.revise<BreakerVerdict>(question, (breakers) => {
      const revisions: Revision[] = [];
      for (const [at, { ref, limits: its }] of watched.entries()) {
        const stored = breakers[at];
        if (stored === undefined) continue;
        const answer = ask(stored, its, nowMs, next, request.phase === 'tool.after');
        if (answer.state !== stored.breaker.state)
          revisions.push({ ref, from: stored, to: { ...stored.breaker, state: answer.state } });
        if (answer.reason !== null) return { revisions, answer: { allowed: false, ref, reason: answer.reason } };
      }
      return { revisions, answer: { allowed: true } };
    });
  }

  /** From now on the tenant's events are counted for its breakers. A note that is lost is made by the next question. */
  #noteAsking(tenantId: string, nowMs: number): void {
    if (nowMs - (this.#notedAtMs.get(tenantId) ?? 0) < NOTE_EVERY_MS) return;
    this.#notedAtMs.set(tenantId, nowMs);
    this.#parts.store.watch(tenantId).catch(() => this.#notedAtMs.delete(tenantId));
  }
}

type Limits = Parameters<typeof checkBreaker>[1];

/** A call that was made already becomes no probe, and the probe's own result is let through. */
function ask(stored: StoredBreaker, limits: Limits, nowMs: number, next: NextCall, after: boolean) {
  const { state } = stored.breaker;
  if (after && state.kind === 'half_open') return { state, reason: null };
  const { by: _, ...nameless } = next;
  const answer = checkBreaker(withAsked(stored.breaker, stored.asked), limits, nowMs, after ? nameless : next);
  return { state: answer.breaker.state, reason: answer.allowed ? null : answer.reason };
}

/** A tool call belongs to an iteration that has begun; a model call begins one. */
function nextCall({ phase, runId, callId, estimate }: DecisionRequest, decisionId: string): NextCall {
  const by = probeName({ runId, callId }, decisionId);
  if (phase !== 'llm.before') return { by };
  return { by, iterations: 1, tokens: estimate?.tokens ?? 0, costUsd: estimate?.costUsd ?? 0 };
}

function saidUsage({ metrics }: DecisionRequest): AskedUsage | null {
  const tokens = amount(metrics.llm_tokens_in) + amount(metrics.llm_tokens_out);
  const costUsd = amount(metrics.llm_cost_usd);
  return tokens > 0 || costUsd > 0 ? { tokens, costUsd, iterations: 0 } : null;
}

function amount(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) && value > 0 ? value : 0;
}
