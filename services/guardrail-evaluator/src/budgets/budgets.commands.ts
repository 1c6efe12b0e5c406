import {
  type Budget,
  BudgetDraft,
  BudgetPatch,
  type ChangeAuthor,
  otherVersion,
  type Problem,
  timeOrderedId,
} from '@agentlens/contracts';
import { isDatabaseAway } from '@agentlens/platform';
import { StateUnavailable } from '@agentlens/state';
import { type CommandRefusal, invalid } from '../command-refusals.ts';
import { budgetBalance, isId, NOT_FOUND } from './budget-balance.ts';
import type { BudgetsRepository } from './budgets.repository.ts';
import type { SeededBudgetStore } from './seeded-budget-store.ts';

const NO_RESERVATION = { ok: false, problem: { error: 'No such reservation', status: 404 } } as const;

interface BudgetCommandsDependencies {
  readonly repository: BudgetsRepository;
  readonly budgetStore: Pick<SeededBudgetStore, 'spend' | 'balances'>;
  readonly now: () => number;
  /** Applies the change on this instance at once; other instances follow the announcement. */
  readonly changed: (tenantId: string) => Promise<unknown>;
}

/** Handles commands on budgets. */
export class BudgetCommands {
  constructor(private readonly dependencies: BudgetCommandsDependencies) {}

  create(question: NewBudget) {
    return create(this.dependencies, question);
  }

  update(question: BudgetChange) {
    return update(this.dependencies, question);
  }

  remove(question: BudgetChange) {
    return remove(this.dependencies, question);
  }

  balance(question: { readonly tenantId: string; readonly budgetId: string }) {
    return orUnknown(budgetBalance(this.dependencies, question));
  }

  settle(question: Settle) {
    return settle(this.dependencies, question);
  }
}

interface NewBudget {
  readonly tenantId: string;
  readonly body?: unknown;
  readonly author?: ChangeAuthor | undefined;
}

async function create({ repository, now, changed }: BudgetCommandsDependencies, { tenantId, body, author }: NewBudget) {
  const draft = BudgetDraft.safeParse(body);
  if (!draft.success) return invalid(draft.error);
  const nowMs = now();
  const at = new Date(nowMs).toISOString();
  const budget: Budget = {
    ...draft.data,
    id: timeOrderedId(nowMs),
    tenantId,
    version: 1,
    createdAt: at,
    updatedAt: at,
  };
  await repository.insert(budget, author);
  await changed(tenantId);
  return { ok: true, value: budget } as const;
}

interface BudgetChange {
  readonly tenantId: string;
  readonly budgetId: string;
  readonly ifVersion?: number | undefined;
  readonly body?: unknown;
  readonly author?: ChangeAuthor | undefined;
}

async function update(
  { repository, now, changed }: BudgetCommandsDependencies,
  { tenantId, budgetId, ifVersion, body, author }: BudgetChange,
) {
  if (!isId(budgetId)) return NOT_FOUND;
  const patch = BudgetPatch.safeParse(body);
  if (!patch.success) return invalid(patch.error);
  const at = new Date(now()).toISOString();
  const result = await repository.update(tenantId, budgetId, { patch: patch.data, ifVersion, at, author });
  if (result === null) return NOT_FOUND;
  if (result.kind === 'other_version') return otherVersion('budget', ifVersion, result.version);
  await changed(tenantId);
  return { ok: true, value: result.budget } as const;
}

async function remove(
  { repository, now, changed }: BudgetCommandsDependencies,
  { tenantId, budgetId, ifVersion, author }: BudgetChange,
) {
  if (!isId(budgetId)) return NOT_FOUND;
  const at = new Date(now()).toISOString();
  const result = await repository.markDeleted(tenantId, budgetId, { ifVersion, at, author });
  if (result === null) return NOT_FOUND;
  if (result !== 'deleted') return otherVersion('budget', ifVersion, result.version);
  await changed(tenantId);
  return { ok: true, value: { ok: true } } as const;
}

type Settle = { tenantId: string; reservationId: string; costUsd: number };

async function settle({ budgetStore, now }: BudgetCommandsDependencies, { tenantId, reservationId, costUsd }: Settle) {
  const [answer] = await budgetStore.spend(tenantId, [{ reservationId, costUsd, accounts: [] }], now());
  if (answer === 'unknown') return NO_RESERVATION;
  return { ok: true, value: { ok: true } } as const;
}

const UNKNOWN: Problem = {
  error: 'The balance of the budget is not available at the moment',
  status: 503,
  hint: 'Ask again in a few seconds; nothing was changed',
};

async function orUnknown<A>(answer: Promise<A>): Promise<A | CommandRefusal> {
  try {
    return await answer;
  } catch (error) {
    if (isDatabaseAway(error) || error instanceof StateUnavailable) return { ok: false, problem: UNKNOWN };
    throw error;
  }
}
