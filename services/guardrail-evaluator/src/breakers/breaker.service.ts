import { type BreakerReason, type DecisionRequest, hasHappened } from '@agentlens/contracts';
import {
  type AskedUsage,
  type BreakerRef,
  type BreakerStore,
  CLOSED_BREAKER,
  checkBreaker,
  type NextCall,
  NO_BREAKER_LIMITS,
  type StoredBreaker,
  usageOfQuestion,
} from '@agentlens/guardrails';
import type { TenantSettingsCache } from '@agentlens/platform';
import { type BreakerTransactions, type Revision, withAsked } from './breaker-transactions.ts';
import { type OpenBreakers, recordKey } from './breakers.repository.ts';
import type { ClosedBreakers } from './closed-breakers.ts';
import { agentLimits, runLimits, type TenantLimits } from './limits.ts';
import { isPassed } from './raised-limits.ts';
import { TreeBreakers } from './tree-breakers.ts';
import { probeName } from './usage-of-event.ts';

/** Minimum interval between two notes that a tenant asks for decisions. */
const NOTE_EVERY_MS = 3_600_000;
/** The beginning of the key of every run tree. */
const ANY_TREE = recordKey({ scope: 'tree', scopeId: '' });

export type BreakerVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly ref: BreakerRef; readonly reason: BreakerReason };

interface BreakerServiceDependencies {
  readonly transactions: BreakerTransactions;
  readonly store: Pick<BreakerStore, 'watch'>;
  readonly limits: Pick<TenantSettingsCache<TenantLimits>, 'of'>;
  /** Announced breakers that are open. */
  readonly open: Pick<TenantSettingsCache<OpenBreakers>, 'of'>;
  readonly closed: Pick<ClosedBreakers, 'has' | 'reading'>;
}

/** Checks whether the breakers of a run, its agent and its run tree allow a call. */
export class BreakerService {
  readonly #parts: BreakerServiceDependencies;
  readonly #trees: TreeBreakers;
  readonly #notedAtMs = new Map<string, number>();

  constructor(parts: BreakerServiceDependencies) {
    this.#parts = parts;
    this.#trees = new TreeBreakers(parts.transactions);
  }

  /**
   * Returns true if the store need not be read: the breakers of the run, its agent and its tree were closed a moment
   * ago, this instance has not changed them since, and the call adds nothing that could open them.
   */
  remembers(request: DecisionRequest): boolean {
    const { tenantId, agentId, runId, phase, metrics } = request;
    if (phase === 'llm.before' || usageOfQuestion({ metrics }) !== null) return false;
    const { closed, limits, open } = this.#parts;
    const inForce = limits.of(tenantId);
    if (!closed.has(tenantId, agentId, placeOf(request, inForce), inForce)) return false;
    const opened = open.of(tenantId);
    if (opened === undefined) return true;
    return (
      !opened.has(recordKey({ scope: 'run', scopeId: runId })) &&
      !opened.has(recordKey({ scope: 'agent', scopeId: agentId })) &&
      (inForce?.tree === undefined || !hasTree(opened))
    );
  }

  /**
   * @param once identifies the question, so that a retry can be recognised
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
    const next = nextCall(request, once ?? decisionId);
    const usage = usageOfQuestion(request);
    const question = {
      ...{ tenantId, agentId, refs: watched.map(({ ref }) => ref) },
      ...(usage === null ? {} : { adding: { at: 0, usage, ...additionName(usage, once) } }),
    };
    const reading = this.#parts.closed.reading(tenantId, agentId, placeOf(request, limits), limits);
    let closed = false;
    let verdict = await this.#parts.transactions.revise<BreakerVerdict>(question, (breakers) => {
      closed = breakers.every(({ breaker }) => breaker.state.kind === 'closed');
      const revisions: Revision[] = [];
      for (const [at, { ref, limits: its }] of watched.entries()) {
        const stored = breakers[at];
        if (stored === undefined) continue;
        const answer = ask(stored, its, nowMs, next, hasHappened(request.phase));
        if (answer.state !== stored.breaker.state)
          revisions.push({ ref, from: stored, to: { ...stored.breaker, state: answer.state }, limits: its });
        if (answer.reason !== null) return { revisions, answer: { allowed: false, ref, reason: answer.reason } };
      }
      return { revisions, answer: { allowed: true } };
    });
    if (verdict.allowed && limits?.tree !== undefined) {
      const ofTree = await this.#consultTree(request, limits.tree, nowMs, next);
      verdict = ofTree.verdict;
      closed &&= ofTree.closed;
    }
    if (closed && verdict.allowed) reading.closed();
    return verdict;
  }

  /** Usage that comes with a question counts for its run only; that of a tree is what events report. */
  #consultTree(
    { tenantId, agentId, runId, ancestors = [], phase }: DecisionRequest,
    limits: Limits,
    nowMs: number,
    next: NextCall,
  ) {
    const question = { tenantId, agentId, lines: [[runId, ...ancestors]] };
    return this.#trees.revise<{ readonly verdict: BreakerVerdict; readonly closed: boolean }>(question, (trees) => {
      const root = trees.rootOf(runId);
      const stored = trees.of(root);
      const { state, reason } = ask(stored, limits, nowMs, next, hasHappened(phase));
      const changed = state !== stored.breaker.state;
      const ref = { scope: 'tree', scopeId: root } as const;
      return {
        changes: new Map(changed ? [[root, { breaker: { ...stored.breaker, state }, limits }]] : []),
        answer: {
          verdict: reason === null ? { allowed: true } : { allowed: false, ref, reason },
          closed: stored.breaker.state.kind === 'closed',
        },
      };
    });
  }

  /** Starts counting the tenant's events for its breakers. If the note is lost, the next question writes it. */
  #noteAsking(tenantId: string, nowMs: number): void {
    if (nowMs - (this.#notedAtMs.get(tenantId) ?? 0) < NOTE_EVERY_MS) return;
    this.#notedAtMs.set(tenantId, nowMs);
    this.#parts.store.watch(tenantId).catch(() => this.#notedAtMs.delete(tenantId));
  }
}

/** A run that names another ancestor becomes part of another tree, so its breakers are read again. */
function placeOf({ runId, ancestors = [] }: DecisionRequest, limits: TenantLimits | undefined): string {
  return limits?.tree === undefined ? runId : JSON.stringify([runId, ...ancestors]);
}

/** A run may belong to a tree whose topmost run the question does not name. */
function hasTree(opened: OpenBreakers): boolean {
  for (const key of opened.keys()) if (key.startsWith(ANY_TREE)) return true;
  return false;
}

type Limits = Parameters<typeof checkBreaker>[1];

/** A call that was already made does not become a probe, and the probe's own result is allowed. */
function ask(stored: StoredBreaker, limits: Limits, nowMs: number, next: NextCall, after: boolean) {
  const { state } = stored.breaker;
  if (after && state.kind === 'half_open') return { state, reason: null };
  // The tenant turned the default limits off after the breaker opened.
  if (limits === NO_BREAKER_LIMITS && isPassed(state)) return { state: CLOSED_BREAKER.state, reason: null };
  const { by: _, ...nameless } = next;
  const answer = checkBreaker(withAsked(stored.breaker, stored.asked), limits, nowMs, after ? nameless : next);
  return { state: answer.breaker.state, reason: answer.allowed ? null : answer.reason };
}

/** A tool call belongs to the current iteration; a model call starts a new one. */
function nextCall({ phase, runId, callId, estimate, grows }: DecisionRequest, question: string): NextCall {
  const by = probeName({ runId, callId }, question);
  if (phase !== 'llm.before') return { by };
  return { by, iterations: grows === true ? 0 : 1, tokens: estimate?.tokens ?? 0, costUsd: estimate?.costUsd ?? 0 };
}

/** The name under which usage is added once. The same question with different usage is a separate addition. */
function additionName({ tokens, costUsd }: AskedUsage, question: string | undefined): { readonly once?: string } {
  return question === undefined ? {} : { once: `${question}#${tokens}#${costUsd}` };
}
