import {
  type AgentEvent,
  derivedId,
  type EventBatch,
  type GuardrailRule,
  partitionOf,
  type Trigger,
} from '@agentlens/contracts';

const NOON = '2026-03-01T12:00:00.000Z';
let serial = 0;

/** Unique within the process and sequential, so that failing tests are readable. */
function nextId(prefix: string): string {
  serial += 1;
  return derivedId(Date.parse(NOON), prefix, serial);
}

export function anEvent(fields: Partial<AgentEvent> = {}): AgentEvent {
  const id = fields.id ?? nextId('event');
  return {
    id,
    agentId: 'agent-1',
    runId: 'run-1',
    kind: 'custom.recorded',
    dialect: 'agentlens',
    sourceType: 'custom',
    severity: 'info',
    isError: fields.isError ?? (fields.severity === 'error' || fields.severity === 'critical'),
    occurredAt: NOON,
    retryable: false,
    hash: `hash-of-${id}`,
    payload: {},
    metadata: {},
    ...fields,
  };
}

export function aBatch(fields: Partial<EventBatch> = {}): EventBatch {
  const events = fields.events ?? [anEvent()];
  const tenantId = fields.tenantId ?? 'acme';
  return {
    id: nextId('batch'),
    tenantId,
    partition: partitionOf(tenantId),
    receivedAt: NOON,
    ...fields,
    events,
  };
}

export function aRule(fields: Partial<GuardrailRule> = {}): GuardrailRule {
  return {
    id: nextId('rule'),
    tenantId: 'acme',
    version: 1,
    name: 'Too many errors',
    enabled: true,
    conditionType: 'error_rate_threshold',
    conditionConfig: { threshold: 30, windowMinutes: 5, minEvents: 1 },
    actionType: 'pause_agent',
    actionConfig: {},
    cooldownMinutes: 15,
    dryRun: false,
    direction: 'both',
    priority: 0,
    mode: 'enforce',
    onMissing: 'allow',
    onUnavailable: 'allow',
    createdAt: NOON,
    updatedAt: NOON,
    ...fields,
  };
}

export function aTrigger(fields: Partial<Trigger> = {}): Trigger {
  return {
    id: nextId('trigger'),
    tenantId: 'acme',
    ruleId: 'rule-1',
    ruleVersion: 1,
    ruleName: 'Too many errors',
    agentId: 'agent-1',
    runId: 'run-1',
    eventId: 'event-1',
    conditionType: 'error_rate_threshold',
    conditionValue: 50,
    conditionThreshold: 30,
    comparison: 'reaches',
    actionType: 'pause_agent',
    cooldownMinutes: 15,
    dryRun: false,
    message: 'Error rate 50.0% exceeds threshold 30%',
    triggeredAt: NOON,
    ...fields,
  };
}
