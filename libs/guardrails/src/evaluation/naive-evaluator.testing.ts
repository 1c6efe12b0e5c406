import { type AgentEvent, derivedId, type EventBatch, type GuardrailRule } from '@agentlens/contracts';
import { binOf, quantileOf } from '../windows/sketch.ts';

/** A trigger, reduced to what the specs compare. */
export interface NaiveTrigger {
  readonly id: string;
  readonly ruleId: string;
  readonly eventId: string;
  readonly value: number;
}

interface Counted {
  readonly tenantId: string;
  readonly event: AgentEvent;
  readonly atMs: number;
}

/**
 * Reference implementation of guardrails: for every event, check every rule and recount everything. Shares no code with
 * the series, plans and catalogs it is compared with.
 */
export class NaiveEvaluator {
  readonly #counted: Counted[] = [];
  readonly #coolUntil = new Map<string, number>();

  evaluate(rules: readonly GuardrailRule[], batch: EventBatch): NaiveTrigger[] {
    return batch.events.flatMap((event) => this.#event(rules, batch, event));
  }

  #event(rules: readonly GuardrailRule[], { tenantId, receivedAt }: EventBatch, event: AgentEvent): NaiveTrigger[] {
    const nowMs = Date.parse(receivedAt);
    const mine = this.#counted.filter((one) => one.tenantId === tenantId && one.event.agentId === event.agentId);
    if (event.retryable && mine.some((one) => one.event.retryable && one.event.id === event.id)) return [];
    const now: Counted = { tenantId, event, atMs: Math.min(Date.parse(event.occurredAt), nowMs) };
    this.#counted.push(now);
    mine.push(now);
    const triggers: NaiveTrigger[] = [];
    for (const rule of rules) {
      const applies = rule.tenantId === tenantId && (rule.agentId === undefined || rule.agentId === event.agentId);
      const coolKey = `${rule.id}:${event.agentId}`;
      if (!applies || (this.#coolUntil.get(coolKey) ?? 0) > nowMs) continue;
      const value = measured(rule, mine, event, nowMs);
      if (value === null) continue;
      const id = derivedId(nowMs, rule.id, rule.version, event.agentId, event.id);
      triggers.push({ id, ruleId: rule.id, eventId: event.id, value });
      this.#coolUntil.set(coolKey, nowMs + rule.cooldownMinutes * 60_000);
    }
    return triggers;
  }
}

/** Returns the measured value if the rule fires on `event`, else null. */
function measured(rule: GuardrailRule, mine: readonly Counted[], event: AgentEvent, nowMs: number): number | null {
  const config = rule.conditionConfig as Record<string, number | string>;
  const tidy = (value: number) => Number(value.toPrecision(12));
  const widthMs = Number(config.windowMinutes) * 1000;
  const inWindow = mine.filter(({ atMs }) => Math.floor(nowMs / widthMs) - Math.floor(atMs / widthMs) < 60);
  if (rule.conditionType === 'error_rate_threshold') {
    const rate = errorRate(config, inWindow, event);
    if (rate === null) return null;
    return tidy(rate) >= Number(config.threshold) ? tidy(rate) : null;
  }
  if (rule.conditionType === 'cost_limit') {
    const same = (one: Counted) =>
      config.scope === 'session'
        ? one.event.runId === event.runId
        : one.event.occurredAt.slice(0, 10) === event.occurredAt.slice(0, 10);
    const cost = tidy(mine.filter(same).reduce((sum, one) => sum + (one.event.usage?.costUsd ?? 0), 0));
    return cost >= Number(config.maxCostUsd) ? cost : null;
  }
  if (config.metricName === 'tool_call_count') {
    if (event.kind !== 'tool.called' && event.kind !== 'tool.completed') return null;
    const calls = inWindow.filter((one) => one.event.kind === 'tool.called').length;
    return calls > Number(config.value) ? calls : null;
  }
  const depth = (one: Counted) => one.event.metadata.depth;
  if (typeof depth({ event } as Counted) !== 'number') return null;
  const value = tidy(aggregated(String(config.aggregate), inWindow, (one) => depth(one)));
  return compared(value, String(config.operator), Number(config.value)) ? value : null;
}

function errorRate(config: Record<string, number | string>, inWindow: readonly Counted[], event: AgentEvent) {
  const of = (...kinds: string[]) => inWindow.map((one) => one.event).filter(({ kind }) => kinds.includes(kind));
  const percent = (failed: number, all: number) =>
    all === 0 || all < Number(config.minEvents) ? null : (100 * failed) / all;
  const failedOf = (events: readonly AgentEvent[]) => events.filter(({ isError }) => isError).length;
  if (config.of !== 'calls') return percent(failedOf(inWindow.map((one) => one.event)), inWindow.length);
  if (!['tool.completed', 'llm.completed', 'error.raised', 'run.ended'].includes(event.kind)) return null;
  const calls = of('tool.completed', 'llm.completed');
  const failedRuns = of('run.ended').filter(({ outcome, isError }) => isError || outcome === 'failed');
  const failed = Math.max(failedOf(calls), of('error.raised').length, failedRuns.length);
  return percent(failed, calls.length - failedOf(calls) + failed);
}

/** Returns NaN, which meets no comparison, if there are no readings. */
function aggregated(aggregate: string, counted: readonly Counted[], read: (one: Counted) => unknown): number {
  const known = counted.filter((one) => typeof read(one) === 'number');
  const readings = known.map((one) => Number(read(one)));
  const sum = readings.reduce((total, reading) => total + reading, 0);
  if (aggregate === 'sum') return sum;
  if (aggregate === 'count') return readings.length;
  if (readings.length === 0) return Number.NaN;
  if (aggregate === 'avg') return sum / readings.length;
  if (aggregate === 'min') return Math.min(...readings);
  if (aggregate === 'max') return Math.max(...readings);
  if (aggregate === 'last') {
    const newest = Math.max(...known.map(({ atMs }) => atMs));
    return Math.max(...known.filter(({ atMs }) => atMs === newest).map((one) => Number(read(one))));
  }
  // Rounds each reading to its bin, as the sketch does.
  const binned = readings
    .map((reading) => quantileOf([{ bin: binOf(reading), count: 1 }], 1) ?? Number.NaN)
    .sort((x, y) => x - y);
  return binned[Math.ceil(0.95 * binned.length) - 1] ?? Number.NaN;
}

function compared(value: number, operator: string, limit: number): boolean {
  if (operator === 'gt') return value > limit;
  if (operator === 'gte') return value >= limit;
  if (operator === 'lt') return value < limit;
  return operator === 'lte' ? value <= limit : value === limit;
}
