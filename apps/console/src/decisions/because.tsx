import { Link } from '@tanstack/react-router';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { Decision } from '../api/model.ts';
import { bypassedRules } from '../ui/marks.tsx';

/** Names of what can decide, by id. */
export interface DeciderNames {
  readonly rules: ReadonlyMap<string, string>;
  /** What each rule says, in words. */
  readonly words?: ReadonlyMap<string, string>;
  readonly budgets: ReadonlyMap<string, string>;
}

export interface Because {
  readonly text: string;
  /** The rule in words. */
  readonly words?: string | undefined;
  readonly to: string;
  readonly params?: { readonly id: string };
  readonly search?: Readonly<Record<string, string>>;
}

type Reasons = Pick<
  Decision,
  'reason' | 'budgetId' | 'cause' | 'finalRuleId' | 'evaluatedRules' | 'bypasses' | 'agentId' | 'runId' | 'approvalId'
>;

/** What decided a call: rules, a budget, a breaker, an order, an approval, or that a rule could not be evaluated. */
export function becauseOf(decision: Reasons, { rules, budgets, words }: DeciderNames): readonly Because[] {
  const rule = (id: string, how = ''): Because => ({
    text: `${rules.get(id) ?? 'a deleted rule'}${how}`,
    words: words?.get(id),
    to: '/guardrails/$id',
    params: { id },
  });
  switch (decision.reason) {
    case 'budget': {
      const id = decision.budgetId ?? '';
      return [{ text: `Budget ${budgets.get(id) ?? '(deleted)'}`, to: '/spend', search: { budget: id } }];
    }
    case 'breaker': {
      const lockdown = decision.cause.kind === 'LOCKDOWN' ? (decision.cause.lockdownId ?? '') : '';
      const whose = { run: 'run', tree: 'run tree' }[lockdown.split(':')[1] ?? ''] ?? 'agent';
      return [{ text: `Breaker of the ${whose}`, to: '/breakers' }];
    }
    case 'order':
      return [{ text: 'Paused or killed by an order', to: '/agents/$id', params: { id: decision.agentId } }];
    case 'tree_limit':
      return [{ text: 'A limit of the run tree', to: '/runs/$id', params: { id: decision.runId } }];
    case 'unjudged':
      return [{ text: 'No rule could be evaluated in time', to: '/system' }];
    case 'approval':
      return decision.finalRuleId === undefined
        ? [{ text: 'Approval', to: '/approvals' }]
        : [rule(decision.finalRuleId, decision.cause.kind === 'HITL_PENDING' ? ': needs approval' : ': not approved')];
    default: {
      const violated = decision.evaluatedRules.filter((one) => one.violated).map(({ ruleId }) => rule(ruleId));
      if (violated.length > 0) return violated;
      return [...new Map(bypassedRules(decision).map(({ ruleId, why }) => [ruleId, why]))].map(([id, why]) =>
        id === 'circuit_breaker'
          ? { text: 'Breakers could not be checked', to: '/system' }
          : id === '*'
            ? { text: 'No rule could be evaluated', to: '/system' }
            : rule(id, why === 'missing' ? ': the call lacks what it looks at' : ': could not be evaluated'),
      );
    }
  }
}

/** Links to everything that decided a call. */
export function BecauseLinks({ decision, names }: { decision: Reasons; names: DeciderNames }) {
  return (
    <span className="t2 clip">
      {becauseOf(decision, names).map(({ text, words, to, params, search = {} }, index) => (
        <span key={text}>
          {index > 0 && ', '}
          <Link
            className="link"
            to={to}
            params={params ?? {}}
            search={search}
            title={words === undefined ? visibleName(text) : visible(words)}
          >
            {visibleName(text)}
          </Link>
        </span>
      ))}
    </span>
  );
}
