import { type AgentEvent, derivedId, type Trigger } from '@agentlens/contracts';
import { COMPARISONS } from '../catalog/threshold.ts';
import { isDryFor, type MeasuredRule } from '../rules/active-rule.ts';

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
