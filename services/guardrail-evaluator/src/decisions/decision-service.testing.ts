import { type Budget, type Decision, type DecisionRequest, type GuardrailRule } from '@agentlens/contracts';
import { activate, DecisionBook, type LabelStore } from '@agentlens/guardrails';
import { createMemoryBus } from '@agentlens/messaging';
import { type ControlState, createLogger } from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import { aRule } from '@agentlens/testing';
import { BreakerService } from '../breakers/breaker.service.ts';
import { BreakerTransactions } from '../breakers/breaker-transactions.ts';
import { ClosedBreakers } from '../breakers/closed-breakers.ts';
import { type TenantLimits } from '../breakers/limits.ts';
import { BudgetService } from '../budgets/budget.service.ts';
import { SeededBudgetStore } from '../budgets/seeded-budget-store.ts';
import { DecisionService } from './decision.service.ts';
import { EndedCalls } from './ended-calls.ts';
import { FactGatherer } from './fact-gatherer.ts';
import { StateCircuit } from './state-circuit.ts';
import { TenantSteps } from './tenant-steps.ts';

export const NOW = Date.parse('2026-03-01T12:00:00.000Z');
export const NONE: ControlState = { kind: 'none', modelOverride: null };

export const bus = createMemoryBus();
interface World {
  readonly rules?: readonly Partial<GuardrailRule>[];
  readonly controlState?: ControlState | ((agentId: string) => ControlState);
  readonly limits?: TenantLimits;
  readonly budgets?: readonly Budget[];
  readonly labels?: LabelStore;
}

/** A decision service on in-memory adapters. */
export function serviceIn({ rules = [], controlState = NONE, limits, budgets, labels }: World = {}) {
  const state = createMemoryState({ clock: { now: () => NOW } });
  const logger = createLogger({ name: 'test', level: 'silent' });
  const active = rules.map((rule, at) => {
    const activated = activate(aRule({ id: `rule-${at}`, name: `Rule ${at}`, ...rule }));
    if (!activated.ok) throw new Error(activated.reason);
    return activated.value;
  });
  const offered: Decision[] = [];
  const recorded: unknown[] = [];
  const refusals: [budgetId: string, why: string][] = [];
  const now = () => NOW;
  const closed = new ClosedBreakers();
  const open = { of: () => undefined };
  const circuit = new StateCircuit({ probe: async () => undefined, logger });
  const transactions = new BreakerTransactions({
    ...{ store: state.breakers, now, open, closed },
    recorder: { record: (change) => recorded.push(change) },
  });
  const budgetStore = new SeededBudgetStore(
    state.budgets,
    { spent: async () => [], record: async () => undefined },
    now,
  );
  const service = new DecisionService({
    control: { stateOf: (_, agentId) => (typeof controlState === 'function' ? controlState(agentId) : controlState) },
    rules: { decisions: DecisionBook.EMPTY.withTenant('acme', active) },
    breakers: new BreakerService({ transactions, store: state.breakers, limits: { of: () => limits }, open, closed }),
    budgets: new BudgetService({ budgetStore, budgets: { of: () => budgets } }),
    facts: new FactGatherer({
      ...{ calls: state.calls, labels: labels ?? state.labels, windows: state.windows, circuit, logger },
      agents: { agent: async () => ({ tags: ['prod'] }) },
    }),
    bus,
    ended: new EndedCalls({ bus, logger }),
    circuit,
    publisher: { offer: (decision) => offered.push(decision) },
    metrics: {
      decided: () => undefined,
      refusedByBudget: ({ budget, why }) => refusals.push([budget.id, why]),
    },
    steps: new TenantSteps(now),
    clock: { now },
    logger,
  });
  const ask = (fields: Partial<DecisionRequest> = {}) =>
    service.decide({
      ...{
        tenantId: 'acme',
        agentId: 'agent',
        runId: 'run',
        phase: 'tool.before',
        tags: {},
        subjects: [],
        metrics: {},
      },
      ...{ tool: { name: 'search', tags: [] }, args: { q: 1 }, deadlineMs: 1_000 },
      receivedAt: new Date(NOW).toISOString(),
      ...fields,
    });
  return { ask, service, state, offered, recorded, refusals };
}

export const named = (name: string) => ({
  conditionType: 'tool_name',
  conditionConfig: { operator: 'eq', value: name },
});
export const call = (name: string) => ({ tool: { name, tags: [] } });
