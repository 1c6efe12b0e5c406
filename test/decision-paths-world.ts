import { deserialize } from 'node:v8';
import {
  type Alert,
  type Budget,
  breakerChanged,
  COMMANDS,
  type DecisionRequest,
  type EventBatch,
  type GuardrailRule,
  rulesChanged,
} from '@agentlens/contracts';
import { type Answered, BookCache, DecisionGateway, GatewayMetrics, LocalDecisions } from '@agentlens/decisions';
import * as guardrails from '@agentlens/guardrails';
import { createMemoryBus } from '@agentlens/messaging';
import { type ControlState, createLogger } from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import { BreakerService } from '../services/guardrail-evaluator/src/breakers/breaker.service.ts';
import { BreakerFeeder } from '../services/guardrail-evaluator/src/breakers/breaker-feeder.ts';
import type { RecordedChange } from '../services/guardrail-evaluator/src/breakers/breaker-recorder.ts';
import { BreakerTransactions } from '../services/guardrail-evaluator/src/breakers/breaker-transactions.ts';
import { recordKey } from '../services/guardrail-evaluator/src/breakers/breakers.repository.ts';
import { ClosedBreakers } from '../services/guardrail-evaluator/src/breakers/closed-breakers.ts';
import { DueBreakers } from '../services/guardrail-evaluator/src/breakers/due-breakers.ts';
import type { TenantLimits } from '../services/guardrail-evaluator/src/breakers/limits.ts';
import { applying } from '../services/guardrail-evaluator/src/budgets/accounts.ts';
import { BudgetService } from '../services/guardrail-evaluator/src/budgets/budget.service.ts';
import { SeededBudgetStore } from '../services/guardrail-evaluator/src/budgets/seeded-budget-store.ts';
import { memoryRecords } from '../services/guardrail-evaluator/src/decisions/decision-pipeline.testing.ts';
import { DecisionPipeline } from '../services/guardrail-evaluator/src/decisions/decision-pipeline.ts';
import { EndedCalls } from '../services/guardrail-evaluator/src/decisions/ended-calls.ts';
import { FactGatherer } from '../services/guardrail-evaluator/src/decisions/fact-gatherer.ts';
import { TenantSteps } from '../services/guardrail-evaluator/src/decisions/rule-steps.ts';
import { StateCircuit } from '../services/guardrail-evaluator/src/decisions/state-circuit.ts';
import { TenantBooks } from '../services/guardrail-evaluator/src/decisions/tenant-books.ts';
import { EvaluatorDropMetrics } from '../services/guardrail-evaluator/src/evaluator-metrics.ts';
import { RecordedLabels } from '../services/guardrail-evaluator/src/labels/recorded-labels.ts';

export const TENANT = 'acme';
export const START_MS = Date.parse('2026-03-01T12:00:00.000Z');
/** A decision or request id: a UUID of version 7. */
const RANDOM_ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const NO_ORDER: ControlState = { kind: 'none', modelOverride: null };

export interface WorldClock {
  nowMs: number;
}

type Row = (typeof guardrails.MUST_ASK)[keyof typeof guardrails.MUST_ASK];

export interface WorldOptions {
  readonly clock: WorldClock;
  /** True if a gateway decides what it can; otherwise the evaluator decides everything. */
  readonly hasGateway: boolean;
  readonly mustAsk?: readonly Row[] | undefined;
  /** Time of the evaluator minus time of the gateway. */
  readonly clockOffsetMs?: number;
  readonly random?: () => number;
}

/** An evaluator over in-memory stores, with or without a gateway in front of it. */
export class DecisionWorld {
  readonly answeredBy = { gateway: 0, evaluator: 0 };
  readonly reasons: string[] = [];
  readonly published: unknown[] = [];
  differences = 0;
  readonly #options: WorldOptions;
  readonly #bus = createMemoryBus();
  readonly #state;
  readonly #service: DecisionPipeline;
  readonly #feeder: BreakerFeeder;
  readonly #budgetStore: SeededBudgetStore;
  readonly #due: DueBreakers;
  readonly #books: TenantBooks;
  readonly #approvals = new Map<string, Alert>();
  readonly #spent: unknown[] = [];
  #open: ReadonlyMap<string, { state: RecordedChange['state']; version: number }> = new Map();
  readonly #orders = new Map<string, ControlState>();
  #rules: readonly GuardrailRule[] = [];
  #budgets: readonly Budget[] = [];
  #limits: TenantLimits | undefined;
  #held: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  readonly #current = { decisions: guardrails.DecisionBook.EMPTY };
  #gateway: { readonly books: BookCache; readonly decisions: DecisionGateway } | undefined;

  private constructor(options: WorldOptions) {
    this.#options = options;
    const { clock, clockOffsetMs = 0 } = options;
    const now = () => clock.nowMs + clockOffsetMs;
    const logger = createLogger({ name: 'test', level: 'silent' });
    const state = createMemoryState({ clock: { now } });
    this.#state = state;
    const limits = { of: () => this.#limits, reload: async () => undefined };
    const open = { of: () => this.#open, reload: async () => undefined };
    const budgets = { of: () => this.#budgets, reload: async () => undefined };
    const closed = new ClosedBreakers(now);
    const circuit = new StateCircuit({ probe: async () => undefined, logger });
    const bus = this.#bus;
    this.#due = new DueBreakers({ bus, limits, now, logger });
    const transactions = new BreakerTransactions({
      ...{ store: state.breakers, now, open, closed, due: this.#due },
      recorder: { record: (change) => this.#recorded(change) },
    });
    this.#feeder = new BreakerFeeder({ transactions, store: state.breakers, limits, now });
    const ledger = { spent: async () => [], record: async () => undefined };
    const budgetStore = new SeededBudgetStore(state.budgets, ledger, now, () => undefined);
    this.#budgetStore = budgetStore;
    const drops = new EvaluatorDropMetrics();
    this.#service = new DecisionPipeline({
      control: { stateOf: (...asked) => this.#stateOf(...asked) },
      rules: this.#current,
      breakers: new BreakerService({ transactions, store: state.breakers, limits, open, closed }),
      budgets: new BudgetService({ budgetStore, budgets }),
      facts: new FactGatherer({
        ...{ calls: state.calls, windows: state.windows, circuit, logger },
        labels: new RecordedLabels({ store: state.labels, records: memoryRecords(), now, logger, drops }),
        agents: { agent: async (_, agentId) => (agentId === 'bot-a' ? { tags: ['prod'] } : null) },
      }),
      ...{ bus, circuit, logger, clock: { now } },
      ended: new EndedCalls({ bus, logger, drops }),
      publisher: { offer: (decision) => this.published.push(decision) },
      metrics: { decided: () => undefined, refusedByBudget: () => undefined },
      steps: new TenantSteps(now),
    });
    this.#books = new TenantBooks({
      rules: {
        decisionMarks: () => ({ marks: this.#rules.map(({ id, version }) => `${id}@${version}`), resumesAtMs: null }),
        stored: async () => [...this.#rules],
        reload: async () => undefined,
      },
      ...{ limits, budgets, open, clock: { now } },
    });
  }

  static async open(options: WorldOptions): Promise<DecisionWorld> {
    const world = new DecisionWorld(options);
    await world.#serve();
    await world.restartGateway();
    return world;
  }

  async close(): Promise<void> {
    await this.release();
    await this.#gateway?.books.stop();
    await this.#bus.close();
  }

  /** A gateway that has just started knows no runs and no breakers. */
  async restartGateway(): Promise<void> {
    const { clock, hasGateway, mustAsk, random = () => 1 } = this.#options;
    await this.#gateway?.books.stop();
    if (!hasGateway) return;
    const times = { clock: { now: () => clock.nowMs }, monotonicMs: () => clock.nowMs };
    const metrics = Object.assign(new GatewayMetrics('test'), {
      evictedBook: () => undefined,
      decidedBy: (by: 'gateway' | 'evaluator', reason: string) => {
        this.answeredBy[by] += 1;
        this.reasons.push(reason);
      },
      differs: () => (this.differences += 1),
    });
    const logger = createLogger({ name: 'test', level: 'silent' });
    const books = new BookCache({
      ...{ bus: this.#bus, orders: { silentMs: 0 }, guardrails, metrics, logger, ...times },
      bookTtlMs: 30_000,
    });
    const local = new LocalDecisions({
      ...{ books, guardrails, metrics, logger, random, ...times },
      publisher: { offer: (decision) => this.published.push(decision) },
      decided: { decided: () => undefined },
      ...(mustAsk === undefined ? {} : { mustAsk }),
    });
    await books.start();
    const decisions = new DecisionGateway({
      ...{ bus: this.#bus, metrics, logger, path: { local }, clock: times.clock },
      board: { stateOf: (...asked) => this.#stateOf(...asked) },
      recorder: { record: async () => undefined },
    });
    this.#gateway = { books, decisions };
    books.use(TENANT);
    await books.settled();
  }

  async ask(request: DecisionRequest): Promise<Answered> {
    const gateway = this.#gateway?.decisions;
    const answered = await (gateway?.decide(request, { failMode: 'block' }) ?? this.#askEvaluator(request));
    await this.#service.drain();
    await this.#due.drain();
    return answered;
  }

  async #askEvaluator(request: DecisionRequest): Promise<Answered> {
    const asked = await this.#bus.request(COMMANDS.decide, request);
    if (!asked.ok) throw new Error(asked.problem.error);
    return { decision: asked.value, by: 'evaluator' };
  }

  async feed(batch: EventBatch): Promise<void> {
    await this.#feeder.count(batch);
    await this.#due.drain();
    for (const { id, agentId, runId, usage } of batch.events) {
      if (usage?.costUsd === undefined) continue;
      const { nowMs } = this.#options.clock;
      const accounts = applying(this.#budgets, { tenantId: TENANT, agentId, runId }, nowMs).map((one) => one.account);
      await this.#budgetStore.spend(TENANT, [{ eventId: id, costUsd: usage.costUsd, accounts }], nowMs);
    }
  }

  /** Compares the gateway's books, as it does every second. */
  async tick(): Promise<void> {
    this.#gateway?.books.tick();
    await this.#gateway?.books.settled();
  }

  /** Changes what the evaluator decides by. The change is announced, and the gateway may not have the new book when it is asked. */
  async change(changed: {
    readonly rules?: readonly GuardrailRule[];
    readonly budgets?: readonly Budget[];
    readonly limits?: TenantLimits | undefined;
  }): Promise<void> {
    if (changed.rules !== undefined) this.#setRules(changed.rules);
    if (changed.budgets !== undefined) this.#budgets = changed.budgets;
    if ('limits' in changed) this.#limits = changed.limits;
    const at = new Date(this.#options.clock.nowMs).toISOString();
    await this.#bus.publish(rulesChanged, { tenantId: TENANT, version: crypto.randomUUID(), at });
  }

  /** Delays the evaluator's books until `release`. */
  hold(): void {
    this.#held ??= Promise.withResolvers();
  }

  async release(): Promise<void> {
    this.#held?.resolve();
    this.#held = undefined;
    await this.#gateway?.books.settled();
  }

  #setRules(rules: readonly GuardrailRule[]): void {
    this.#rules = rules;
    const active = rules.map((rule) => {
      const activated = guardrails.activate(rule);
      if (!activated.ok) throw new Error(activated.reason);
      return activated.value;
    });
    this.#current.decisions = guardrails.DecisionBook.EMPTY.withTenant(TENANT, active);
  }

  order(scopeId: string, kind: ControlState['kind']): void {
    if (kind === 'none') this.#orders.delete(scopeId);
    else this.#orders.set(scopeId, { kind, modelOverride: null });
  }

  /** Everything that is stored, with random ids replaced. */
  stored(): string {
    const { maps } = deserialize(this.#state.snapshot()) as { maps: Record<string, [string, unknown, number][]> };
    const stores = Object.entries(maps).map(([name, entries]) => {
      // The note that a tenant asks is renewed by time, not by call.
      const renewed = /watch/.test(name);
      return [name, entries.map(([key, value, endsAtMs]) => [key, value, renewed ? 0 : endsAtMs])];
    });
    const all = { stores, approvals: this.#approvals, spent: this.#spent, open: this.#open };
    return JSON.stringify(all, plain).replace(RANDOM_ID, '#');
  }

  async #serve(): Promise<void> {
    await this.#bus.serve(COMMANDS.decide, async (question) => {
      return { ok: true as const, value: await this.#service.decide(question) };
    });
    await this.#bus.serve(COMMANDS.tenantBook, async (question) => {
      await this.#held?.promise;
      return { ok: true as const, value: await this.#books.answer(question) };
    });
    await this.#bus.serve(COMMANDS.resolveApproval, async ({ tenantId, agentId, binding, title, message }) => {
      const key = JSON.stringify(binding);
      const status = binding.argsHash < '8' ? 'approved' : 'pending';
      const known = this.#approvals.get(key);
      const alert: Alert = known ?? {
        ...{ id: `approval-${this.#approvals.size}`, tenantId, kind: 'approval', status, severity: 'warn' },
        ...{ title, message, agentId, approval: binding, createdAt: new Date(START_MS).toISOString(), version: 1 },
      };
      this.#approvals.set(key, alert);
      return { ok: true as const, value: alert };
    });
    await this.#bus.serve(COMMANDS.spendApprovals, async ({ calls }) => {
      this.#spent.push(calls);
      return { ok: true as const, value: { spent: calls.length } };
    });
  }

  #stateOf(_tenantId: string, agentId: string, runId?: string, ancestors: readonly string[] = []): ControlState {
    const orders = [agentId, runId ?? '', ...ancestors].map((id) => this.#orders.get(id));
    return orders.find((order) => order !== undefined) ?? NO_ORDER;
  }

  #recorded({ tenantId, agentId, ref, state, version }: RecordedChange): void {
    const open = new Map(this.#open);
    open.delete(recordKey(ref));
    if (state.kind !== 'closed') open.set(recordKey(ref), { state, version });
    this.#open = open;
    const at = new Date(this.#options.clock.nowMs).toISOString();
    void this.#bus.publish(breakerChanged, { tenantId, agentId, ...ref, state, version, at });
  }
}

function plain(_key: string, value: unknown): unknown {
  if (value instanceof Map) return [...value].map(([key, one]) => [key, one]);
  return value instanceof Set ? [...value] : value;
}
