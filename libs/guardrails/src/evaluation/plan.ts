import type { AgentEvent, EventBatch } from '@agentlens/contracts';
import type { AdvanceRequest, Increment, Series } from '../ports/window-store.ts';
import type { EventRule } from '../rules/active-rule.ts';
import type { Feeder, RuleBook } from '../rules/rule-book.ts';
import { quantityOf } from '../windows/metrics.ts';
import { sameSeries, seriesKey } from '../windows/span.ts';

/** One rule to be measured on one event: which series of the request it reads. Null: the event does not concern it. */
interface Measurement {
  readonly rule: EventRule;
  readonly series: readonly number[] | null;
}

interface PlannedEvent {
  readonly event: AgentEvent;
  /** Index in the batch. */
  readonly index: number;
  readonly increments: readonly Increment[];
  readonly measurements: readonly Measurement[];
}

export interface DegradedRule {
  readonly rule: EventRule;
  readonly reason: string;
}

/** What one agent's part of a batch needs from the window store, and what to do with the answer. */
export interface Plan {
  readonly request: AdvanceRequest;
  readonly events: readonly PlannedEvent[];
  readonly degraded: readonly DegradedRule[];
}

/** An event with its index in the batch. */
export type Indexed = readonly [index: number, event: AgentEvent];

/**
 * Plans the evaluation of one agent's events of a batch; null where no rule listens to any of them. An event has its
 * place at `min(occurredAt, receivedAt)`: a clock ahead of ours must not put events into the future.
 */
export function planAgent(book: RuleBook, batch: EventBatch, agentId: string, events: readonly Indexed[]): Plan | null {
  const nowMs = Date.parse(batch.receivedAt);
  const series = new SeriesTable();
  const degraded = new Map<EventRule, string>();
  const rules = new Set<EventRule>();
  const planned: PlannedEvent[] = [];
  const seenIds = new Set<string>();
  for (const [index, event] of events) {
    const matching = book.matching(batch.tenantId, agentId, event.kind);
    const feeding = book.feeding(batch.tenantId, agentId, event.kind);
    if (matching.length + feeding.length === 0 || (event.retryable && seenIds.has(event.id))) continue;
    seenIds.add(event.id);
    for (const rule of matching) rules.add(rule);
    const measurements = matching.map((rule) => ({ rule, series: series.read(rule, event, degraded) }));
    const atMs = Math.min(Date.parse(event.occurredAt), nowMs);
    const read = [
      ...measurements.flatMap((one) => one.series ?? []),
      ...feeding.flatMap((one) => series.fed(one, event)),
    ];
    planned.push({ event, index, measurements, increments: series.increments(read, event, index, atMs) });
  }
  if (planned.length === 0) return null;
  return {
    request: {
      tenantId: batch.tenantId,
      agentId,
      messageId: batch.id,
      nowMs,
      series: series.list,
      increments: planned.flatMap((event) => event.increments),
      retryable: planned
        .filter(({ event }) => event.retryable)
        // Not its place: an event from a fast clock has to be recognised whenever it arrives again.
        .map(({ event, index }) => ({ event: index, id: event.id, atMs: Date.parse(event.occurredAt) })),
      cooldowns: [...rules]
        .filter((rule) => rule.cooldownMinutes > 0)
        .map((rule) => ({ ruleId: rule.id, dryRun: rule.dryRun })),
    },
    events: planned,
    degraded: [...degraded].map(([rule, reason]) => ({ rule, reason })),
  };
}

/** The distinct series of a plan, in the order they were first needed. */
class SeriesTable {
  readonly list: Series[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #last = new Map<EventRule, { readonly series: readonly Series[]; readonly indexes: readonly number[] }>();

  read(rule: EventRule, event: AgentEvent, degraded: Map<EventRule, string>): readonly number[] | null {
    if (degraded.has(rule)) return null;
    try {
      const series = rule.series(event);
      return series === null ? null : this.#indexesOf(rule, series);
    } catch (error) {
      degraded.set(rule, error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  /** The series a decision rule wants fed. One that cannot say feeds nothing: its decisions lack data, and say so. */
  fed({ feed }: Feeder, event: AgentEvent): readonly number[] {
    try {
      return (feed.series(event) ?? []).map((series) => this.#indexOf(series));
    } catch {
      return [];
    }
  }

  /** What `event` adds: once to each of the series that somebody concerned by it reads. */
  increments(read: readonly number[], event: AgentEvent, index: number, atMs: number): Increment[] {
    const increments: Increment[] = [];
    for (const series of new Set(read)) {
      const value = quantityOf(this.list[series]?.metric ?? '', event);
      if (value !== null) increments.push({ series, event: index, atMs, value });
    }
    return increments;
  }

  /** Most rules read the same series on every event: names are made only where they differ from the last time. */
  #indexesOf(rule: EventRule, series: readonly Series[]): readonly number[] {
    const last = this.#last.get(rule);
    if (last?.series.length === series.length && series.every((one, i) => sameSeries(one, last.series[i]))) {
      return last.indexes;
    }
    const indexes = series.map((one) => this.#indexOf(one));
    this.#last.set(rule, { series, indexes });
    return indexes;
  }

  #indexOf(series: Series): number {
    const key = seriesKey(series);
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    this.#indexes.set(key, this.list.length);
    return this.list.push(series) - 1;
  }
}
