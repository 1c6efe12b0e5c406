import { type Budget, type Decision, type DecisionRequest, type GuardrailRule } from '@agentlens/contracts';
import { activate, DecisionBook, type LabelledLine, type RunLabels, type StoredLabel } from '@agentlens/guardrails';
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
import { EvaluatorDropMetrics } from '../evaluator-metrics.ts';
import type { ClearedLabel } from '../labels/labels.repository.ts';
import { RecordedLabels } from '../labels/recorded-labels.ts';
import { DecisionPipeline } from './decision-pipeline.ts';
import { EndedCalls } from './ended-calls.ts';
import { FactGatherer } from './fact-gatherer.ts';
import { TenantSteps } from './rule-steps.ts';
import { StateCircuit } from './state-circuit.ts';

export const NOW = Date.parse('2026-03-01T12:00:00.000Z');
export const NONE: ControlState = { kind: 'none', modelOverride: null };

export const bus = createMemoryBus();
interface World {
  readonly rules?: readonly Partial<GuardrailRule>[];
  readonly controlState?: ControlState | ((agentId: string) => ControlState);
  readonly limits?: TenantLimits;
  readonly budgets?: readonly Budget[];
  readonly labels?: RunLabels;
}

/** Records of labels in memory, and the ancestors of runs. */
export function memoryRecords() {
  const rows = new Map<string, StoredLabel>();
  let isUsed = false;
  const nameOf = (runId: string, label: string) => JSON.stringify([runId, label]);
  const records = {
    written: [] as string[],
    cleared: [] as ClearedLabel[],
    lines: new Map<string, readonly string[]>(),
    lookups: 0,
    record: async (_: string, labels: readonly StoredLabel[]) => {
      for (const one of labels) {
        rows.set(nameOf(one.runId, one.label), one);
        records.written.push(one.label);
      }
    },
    remove: async (_: string, runIds: readonly string[], labels: readonly string[]) => {
      for (const runId of runIds) for (const label of labels) rows.delete(nameOf(runId, label));
    },
    clear: async ({ tenantId, runIds }: LabelledLine, cleared: ClearedLabel) => {
      records.cleared.push(cleared);
      await records.remove(tenantId, runIds, [cleared.label]);
    },
    pages: async function* () {
      yield [...rows.values()];
    },
    noteStore: async (_: string, wasEmpty: boolean, nowMs: number) => {
      const lostAtMs = isUsed && wasEmpty ? nowMs : undefined;
      isUsed = true;
      return { salt: 'salt', ...(lostAtMs === undefined ? {} : { lostAtMs }) };
    },
    ancestors: async (_: string, runId: string): Promise<readonly string[] | undefined> => {
      records.lookups += 1;
      return records.lines.get(runId);
    },
  };
  return records;
}

/** Labels in memory, with a record in memory. */
export function memoryLabels(): RunLabels {
  const logger = createLogger({ name: 'test', level: 'silent' });
  const store = createMemoryState({ clock: { now: () => NOW } }).labels;
  return new RecordedLabels({
    store,
    records: memoryRecords(),
    now: () => NOW,
    logger,
    drops: new EvaluatorDropMetrics(),
  });
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
    () => undefined,
  );
  const service = new DecisionPipeline({
    control: { stateOf: (_, agentId) => (typeof controlState === 'function' ? controlState(agentId) : controlState) },
    rules: { decisions: DecisionBook.EMPTY.withTenant('acme', active) },
    breakers: new BreakerService({ transactions, store: state.breakers, limits: { of: () => limits }, open, closed }),
    budgets: new BudgetService({ budgetStore, budgets: { of: () => budgets } }),
    facts: new FactGatherer({
      ...{ calls: state.calls, windows: state.windows, circuit, logger },
      labels:
        labels ??
        new RecordedLabels({
          store: state.labels,
          records: memoryRecords(),
          now,
          logger,
          drops: new EvaluatorDropMetrics(),
        }),
      agents: { agent: async () => ({ tags: ['prod'] }) },
    }),
    bus,
    ended: new EndedCalls({ bus, logger, drops: new EvaluatorDropMetrics() }),
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
