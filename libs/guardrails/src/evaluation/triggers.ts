import { type AgentEvent, derivedId, type Trigger } from '@agentlens/contracts';
import { COMPARISONS, meets, withoutNoise } from '../catalog/threshold.ts';
import type { CooldownClaim } from '../ports/cooldown-store.ts';
import { isDryFor, type MeasuredRule, type TickRule } from '../rules/active-rule.ts';

/** Derives the id from the cause, so that every evaluation of the same cause creates the same trigger. */
function triggerId(rule: MeasuredRule, agentId: string, atMs: number, cause: string): string {
  return derivedId(atMs, rule.id, rule.version, agentId, cause);
}

interface Cause {
  readonly agentId: string;
  readonly atMs: number;
  readonly value: number;
  /** Absent if a tick caused it. */
  readonly event?: AgentEvent;
}

/** A tick causes at most one trigger per rule, agent and instant. */
const TICK = 'tick';

export function makeTrigger(rule: MeasuredRule, { agentId, atMs, value, event }: Cause): Trigger {
  return {
    id: triggerId(rule, agentId, atMs, event?.id ?? TICK),
    tenantId: rule.tenantId,
    ruleId: rule.id,
    ruleVersion: rule.version,
    ruleName: rule.name,
    agentId,
    ...(event === undefined ? {} : { runId: event.runId, eventId: event.id }),
    conditionType: rule.conditionType,
    conditionValue: value,
    conditionThreshold: rule.threshold.value,
    comparison: COMPARISONS[rule.threshold.operator],
    actionType: rule.actionType,
    cooldownMinutes: rule.cooldownMinutes,
    dryRun: isDryFor(rule, agentId),
    message: rule.message(value),
    triggeredAt: new Date(atMs).toISOString(),
  };
}

const MINUTE_MS = 60_000;

/** Returns the cooldown claim that a trigger depends on, or null if its rule has no cooldown. */
export function claimOf(trigger: Trigger): CooldownClaim | null {
  const { id: triggerId, tenantId, agentId, ruleId, dryRun, cooldownMinutes, triggeredAt } = trigger;
  if (cooldownMinutes === 0) return null;
  const cooldownMs = cooldownMinutes * MINUTE_MS;
  return { tenantId, agentId, ruleId, dryRun, triggerId, atMs: Date.parse(triggeredAt), cooldownMs };
}

/** Rounds down to the minute, so that every replica that ticks within it creates the same triggers. */
export function minuteOf(nowMs: number): number {
  return Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
}

interface TickReading {
  readonly value: number | null;
  /** Becomes final if its cooldown can be claimed. */
  readonly trigger: Trigger | null;
}

/** Measures one tick rule for one agent, at the minute of `nowMs`. */
export function tick(rule: TickRule, agentId: string, score: number | null, nowMs: number): TickReading {
  const measured = rule.measure(score);
  if (measured === null || !Number.isFinite(measured)) return { value: null, trigger: null };
  const value = withoutNoise(measured);
  if (!meets(value, rule.threshold)) return { value, trigger: null };
  return { value, trigger: makeTrigger(rule, { agentId, atMs: minuteOf(nowMs), value }) };
}
