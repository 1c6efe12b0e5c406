import type { AgentEvent, EventBatch, EventKind } from '@agentlens/contracts';
import { oncePer } from '../once-per.ts';
import type { AdvanceRequest, Increment } from '../ports/window-store.ts';
import { type EventRule, isDryFor } from '../rules/active-rule.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { KindReader, type Measurement, Measurements } from './kind-reader.ts';
import { SeriesTable } from './series-table.ts';

interface PlannedEvent {
  readonly event: AgentEvent;
  /** Index in the batch. */
  readonly index: number;
  readonly measurements: readonly Measurement[];
}

export interface DegradedRule {
  readonly rule: EventRule;
  readonly reason: string;
}

/** What one agent's part of a batch needs from the window store, and how to evaluate the answer. */
export interface EvaluationPlan {
  /** Its increments are in the order of the events. */
  readonly request: AdvanceRequest;
  readonly events: readonly PlannedEvent[];
  /** The distinct measurements of all events. */
  readonly measurements: readonly Measurement[];
  readonly degraded: readonly DegradedRule[];
}

/** An event with its index in the batch. */
export type Indexed = readonly [index: number, event: AgentEvent];

/**
 * Plans the evaluation of one agent's events of a batch, or returns null if no rule listens to any of them. An event
 * counts at `min(occurredAt, receivedAt)`, because a fast clock must not move events into the future.
 */
export function planAgent(
  book: RuleBook,
  batch: EventBatch,
  agentId: string,
  events: readonly Indexed[],
): EvaluationPlan | null {
  const planner = new AgentPlanner(book, batch, agentId);
  for (const [index, event] of events) planner.add(event, index);
  return planner.plan();
}

class AgentPlanner {
  readonly #book: RuleBook;
  readonly #batch: EventBatch;
  readonly #agentId: string;
  readonly #nowMs: number;
  readonly #table = new SeriesTable();
  readonly #measurements = new Measurements();
  readonly #readers = new Map<EventKind, KindReader>();
  /** The rules of each kind; usually one list for all kinds. */
  readonly #rules = new Set<readonly EventRule[]>();
  readonly #events: PlannedEvent[] = [];
  readonly #increments: Increment[] = [];
  readonly #retryable = new Map<string, AdvanceRequest['retryable'][number]>();
  /** Cache of the last parsed time, because events of one request often share theirs. */
  #lastTime = { text: '', ms: 0 };

  constructor(book: RuleBook, batch: EventBatch, agentId: string) {
    this.#book = book;
    this.#batch = batch;
    this.#agentId = agentId;
    this.#nowMs = Date.parse(batch.receivedAt);
  }

  add(event: AgentEvent, index: number): void {
    const reader = this.#readers.get(event.kind) ?? this.#readerOf(event.kind);
    if (reader.idle || (event.retryable && this.#retryable.has(event.id))) return;
    const occurredMs = this.#timeOf(event);
    // The reported time rather than the capped one, so that an event from a fast clock is recognized on every delivery.
    if (event.retryable) this.#retryable.set(event.id, { event: index, id: event.id, atMs: occurredMs });
    const { measurements, series } = reader.read(event);
    this.#events.push({ event, index, measurements });
    const atMs = Math.min(occurredMs, this.#nowMs);
    for (const one of series) {
      const value = this.#table.quantities[one]?.(event) ?? null;
      if (value !== null) this.#increments.push({ series: one, event: index, atMs, value });
    }
  }

  plan(): EvaluationPlan | null {
    if (this.#events.length === 0) return null;
    return {
      request: {
        tenantId: this.#batch.tenantId,
        agentId: this.#agentId,
        messageId: this.#batch.id,
        nowMs: this.#nowMs,
        series: this.#table.list,
        increments: this.#increments,
        retryable: [...this.#retryable.values()],
        cooldowns: cooldownsOf(this.#rules, this.#agentId),
      },
      events: this.#events,
      measurements: this.#measurements.list,
      degraded: [...this.#measurements.degraded].map(([rule, reason]) => ({ rule, reason })),
    };
  }

  #readerOf(kind: EventKind): KindReader {
    const { tenantId } = this.#batch;
    const rules = this.#book.matching(tenantId, this.#agentId, kind);
    this.#rules.add(rules);
    const feeders = this.#book.feeding(tenantId, this.#agentId, kind);
    const reader = new KindReader(this.#table, this.#measurements, rules, feeders);
    this.#readers.set(kind, reader);
    return reader;
  }

  #timeOf({ occurredAt }: AgentEvent): number {
    if (occurredAt !== this.#lastTime.text) this.#lastTime = { text: occurredAt, ms: Date.parse(occurredAt) };
    return this.#lastTime.ms;
  }
}

type Cooldowns = AdvanceRequest['cooldowns'];

/** Cached, because a book returns the same list of rules repeatedly. */
const cooldownsOfList = oncePer((rules: readonly EventRule[]) =>
  rules.some(({ rollout }) => rollout !== undefined) ? 'by agent' : cooldownsOfRules(rules, ''),
);

function cooldownsOf(lists: ReadonlySet<readonly EventRule[]>, agentId: string): Cooldowns {
  const [only] = lists;
  const shared = lists.size === 1 && only !== undefined ? cooldownsOfList(only) : 'by agent';
  return shared === 'by agent' ? cooldownsOfRules(new Set([...lists].flat()), agentId) : shared;
}

function cooldownsOfRules(rules: Iterable<EventRule>, agentId: string): Cooldowns {
  return [...rules]
    .filter((rule) => rule.cooldownMinutes > 0)
    .map((rule) => ({ ruleId: rule.id, dryRun: isDryFor(rule, agentId) }));
}

/** Plans a batch per agent, for the agents that any rule listens to. */
export function planBatch(book: RuleBook, batch: EventBatch): EvaluationPlan[] {
  const byAgent = new Map<string, Indexed[]>();
  batch.events.forEach((event, index) => {
    const events = byAgent.get(event.agentId);
    if (events === undefined) byAgent.set(event.agentId, [[index, event]]);
    else events.push([index, event]);
  });
  return [...byAgent].flatMap(([agentId, events]) => planAgent(book, batch, agentId, events) ?? []);
}
