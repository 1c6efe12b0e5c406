import {
  type BreakerLimits,
  BreakerLimitsDraft,
  BreakerLimitsPatch,
  type ChangeAuthor,
  otherVersion,
  type Problem,
} from '@agentlens/contracts';
import { type Breaker, type BreakerRef, CLOSED_BREAKER } from '@agentlens/guardrails';
import { invalid } from '../command-refusals.ts';
import type { BreakerTransactions } from './breaker-transactions.ts';
import type { BreakersRepository, LimitsScope } from './breakers.repository.ts';
import type { TenantLimits } from './limits.ts';
import { closeBelowLimits } from './raised-limits.ts';
import { TreeBreakers } from './tree-breakers.ts';

const UNKNOWN_RUN: Problem = { error: 'No such run', status: 404 };
const NO_LIMITS: Problem = {
  error: 'No limits are set for this scope',
  status: 404,
  hint: 'PUT /api/breakers/limits sets them; GET lists those that are set, and the defaults. PATCH /api/settings {"defaultBreaker":"off"} turns the defaults off.',
};

interface BreakerCommandsDependencies {
  readonly repository: BreakersRepository;
  readonly transactions: BreakerTransactions;
  /** Applies the change on this instance at once; other instances follow the announcement. */
  readonly changed: (tenantId: string) => Promise<unknown>;
  /** The limits currently in force. */
  readonly limits: (tenantId: string) => TenantLimits | undefined;
}

interface Authored {
  readonly author?: ChangeAuthor | undefined;
}

/** Handles commands on breakers and their limits. */
export class BreakerCommands {
  constructor(private readonly dependencies: BreakerCommandsDependencies) {}

  setLimits(question: ChangeLimits) {
    return setLimits(this.dependencies, question);
  }

  patchLimits(question: ChangeLimits) {
    return patchLimits(this.dependencies, question);
  }

  deleteLimits(question: ChangeLimits) {
    return deleteLimits(this.dependencies, question);
  }

  reset(question: Reset) {
    return reset(this.dependencies, question);
  }
}

interface ChangeLimits extends LimitsScope, Authored {
  readonly tenantId: string;
  readonly ifVersion?: number | undefined;
  readonly body?: unknown;
}

async function setLimits(parts: BreakerCommandsDependencies, question: ChangeLimits) {
  const draft = BreakerLimitsDraft.safeParse(question.body);
  return draft.success ? changeLimits(parts, question, () => draft.data) : invalid(draft.error);
}

async function patchLimits(parts: BreakerCommandsDependencies, question: ChangeLimits) {
  const patch = BreakerLimitsPatch.safeParse(question.body);
  if (!patch.success) return invalid(patch.error);
  return changeLimits(parts, question, (stored) => (stored === undefined ? null : { ...stored, ...patch.data }));
}

async function changeLimits(
  parts: BreakerCommandsDependencies,
  { tenantId, scope, scopeId, ifVersion, author }: ChangeLimits,
  changed: (stored: BreakerLimits | undefined) => BreakerLimits | null,
) {
  const ref = { scope, scopeId: scope === 'tenant' || scope === 'tree' ? tenantId : scopeId };
  const result = await parts.repository.changeLimits(tenantId, ref, { changed, ifVersion, author });
  if (result === null) return { ok: false, problem: NO_LIMITS } as const;
  if ('current' in result) return otherVersion('limits', ifVersion, result.current);
  await parts.changed(tenantId);
  await closeBelowLimits(parts, tenantId, ref);
  return { ok: true, value: result } as const;
}

async function deleteLimits(
  parts: BreakerCommandsDependencies,
  { tenantId, author, ifVersion, scope, scopeId }: ChangeLimits,
) {
  const ref = { scope, scopeId };
  const result = await parts.repository.deleteLimits(tenantId, ref, { ifVersion, author });
  if (result === null) return { ok: false, problem: NO_LIMITS } as const;
  if (result !== 'deleted') return otherVersion('limits', ifVersion, result.current);
  await parts.changed(tenantId);
  await closeBelowLimits(parts, tenantId, ref);
  return { ok: true, value: { ok: true } } as const;
}

interface Reset extends Authored {
  readonly tenantId: string;
  readonly scope: BreakerRef['scope'];
  readonly scopeId: string;
}

/** Closes the breaker from any state and restarts its counters. */
async function reset(
  { repository, transactions }: BreakerCommandsDependencies,
  { tenantId, scope, scopeId, author }: Reset,
) {
  const agentId = scope === 'agent' ? scopeId : await repository.agentOf(tenantId, scope, scopeId);
  if (agentId === null) return { ok: false, problem: UNKNOWN_RUN } as const;
  const asked = { tenantId, agentId, ref: { scope, scopeId } };
  const { ref, before } = await (scope === 'tree' ? closeTree(transactions, asked) : close(transactions, asked));
  await repository.recordReset(tenantId, ref, before, author);
  return { ok: true, value: { ok: true } } as const;
}

interface AskedReset {
  readonly tenantId: string;
  readonly agentId: string;
  readonly ref: BreakerRef;
}

interface ClosedBreaker {
  readonly ref: BreakerRef;
  readonly before: object | undefined;
}

function close(transactions: BreakerTransactions, { ref, ...whose }: AskedReset): Promise<ClosedBreaker> {
  return transactions.revise<ClosedBreaker>({ ...whose, refs: [ref] }, ([from]) => {
    if (from === undefined) return { revisions: [], answer: { ref, before: undefined } };
    return { revisions: [{ ref, from, to: newlyClosed() }], answer: { ref, before: from.breaker.state } };
  });
}

/** Closes the breaker of the tree that the run belongs to. */
function closeTree(transactions: BreakerTransactions, { ref, ...whose }: AskedReset): Promise<ClosedBreaker> {
  return new TreeBreakers(transactions).revise<ClosedBreaker>({ ...whose, lines: [[ref.scopeId]] }, (trees) => {
    const root = trees.rootOf(ref.scopeId);
    return {
      changes: new Map([[root, { breaker: newlyClosed(), limits: null }]]),
      answer: { ref: { ...ref, scopeId: root }, before: trees.of(root).breaker.state },
    };
  });
}

/** A new state object even if the breaker is closed: the reset clears the counters and must be announced. */
function newlyClosed(): Breaker {
  return { ...CLOSED_BREAKER, state: { kind: 'closed' } };
}
