import { BreakerLimitsDraft, COMMANDS, detailsOf, type Problem } from '@agentlens/contracts';
import { type BreakerRef, CLOSED_BREAKER } from '@agentlens/guardrails';
import type { EventBus, Subscription } from '@agentlens/messaging';
import type { BreakerTransactions } from './breaker-transactions.ts';
import type { BreakersRepository } from './breakers.repository.ts';

const UNKNOWN_RUN: Problem = { error: 'No such run', status: 404 };

interface BreakerCommandsDependencies {
  readonly repository: BreakersRepository;
  readonly transactions: BreakerTransactions;
  /** This instance has the change at once, the others by the announcement. */
  readonly changed: (tenantId: string) => Promise<unknown>;
}

type Refused = { readonly ok: false; readonly problem: Problem };

/** Answers the commands on breakers; replicas share them. */
export async function serveBreakerCommands(
  bus: EventBus,
  parts: BreakerCommandsDependencies,
  orAway: <A>(answer: Promise<A>) => Promise<A | Refused>,
): Promise<Subscription[]> {
  return [
    await bus.serve(COMMANDS.setBreakerLimits, (question) => orAway(setLimits(parts, question))),
    await bus.serve(COMMANDS.resetBreaker, (question) => orAway(reset(parts, question))),
  ];
}

type SetLimits = { tenantId: string; scope: 'tenant' | 'agent' | 'run'; scopeId: string; body: unknown };

async function setLimits(
  { repository, changed }: BreakerCommandsDependencies,
  { tenantId, scope, scopeId, body }: SetLimits,
) {
  const limits = BreakerLimitsDraft.safeParse(body);
  if (!limits.success) {
    return {
      ok: false,
      problem: { error: 'Validation failed', status: 400, details: detailsOf(limits.error) },
    } as const;
  }
  await repository.setLimits(tenantId, { scope, scopeId: scope === 'tenant' ? tenantId : scopeId }, limits.data);
  await changed(tenantId);
  return { ok: true, value: limits.data } as const;
}

type Reset = { tenantId: string; scope: BreakerRef['scope']; scopeId: string; by: string };

/** Closes it, whatever it was, and begins to count again. */
async function reset({ repository, transactions }: BreakerCommandsDependencies, { tenantId, scope, scopeId }: Reset) {
  const agentId = scope === 'agent' ? scopeId : await repository.agentOf(tenantId, scopeId);
  if (agentId === null) return { ok: false, problem: UNKNOWN_RUN } as const;
  const ref = { scope, scopeId };
  await transactions.revise<void>({ tenantId, agentId, refs: [ref] }, ([from]) => {
    if (from === undefined) return { revisions: [], answer: undefined };
    // A new state object even where it is closed: what was counted is forgotten, and that is announced.
    const to = { ...CLOSED_BREAKER, state: { kind: 'closed' as const } };
    return { revisions: [{ ref, from, to }], answer: undefined };
  });
  return { ok: true, value: { ok: true } } as const;
}
