import { z } from 'zod';
import { Alert } from './alerts.ts';
import { parseBatch } from './batch-pieces.ts';
import { BreakerChanged } from './breakers.ts';
import { ControlOrder, Directive, DirectiveAcknowledged } from './control.ts';
import { DeadLetter } from './dead-letters.ts';
import { Decision } from './decisions.ts';
import { eventBatchFacts, eventBatchHeaders, factsOfBatch } from './event-batch-facts.ts';
import { EventBatch } from './events.ts';
import { TenantId } from './ids.ts';
import { KeysChanged, KeyUsed, PricesChanged, RulesChanged, RunChanged, RunHeartbeats } from './notices.ts';
import { subjectToken } from './subjects.ts';
import { BreakersDue } from './tenant-book.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from './times.ts';
import { DeliverySettled, Trigger } from './triggers.ts';

/** A durable log. `maxBytes` bounds its disk usage; when it is full, publishing fails (discard new). */
export interface StreamSpec {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly maxAgeMs: number;
  readonly maxBytes: number;
  readonly duplicateWindowMs: number;
  /** Keeps only the newest message of each subject. */
  readonly lastPerSubject: boolean;
}

export const STREAMS = {
  AGENT_EVENTS: {
    name: 'AGENT_EVENTS',
    subjects: ['agent.events.>'],
    maxAgeMs: 72 * HOUR_MS,
    maxBytes: 20 * 1024 ** 3,
    duplicateWindowMs: 10 * MINUTE_MS,
    lastPerSubject: false,
  },
  GUARDRAILS: {
    name: 'GUARDRAILS',
    subjects: [
      'guardrail.triggered.>',
      'delivery.settled.>',
      'alert.changed.>',
      'breaker.changed.>',
      'breaker.due.>',
      'directive.acknowledged.>',
    ],
    maxAgeMs: 14 * DAY_MS,
    maxBytes: 4 * 1024 ** 3,
    duplicateWindowMs: HOUR_MS,
    lastPerSubject: false,
  },
  CONTROL: {
    name: 'CONTROL',
    subjects: ['control.>'],
    maxAgeMs: 0,
    maxBytes: 1024 ** 3,
    duplicateWindowMs: 2 * MINUTE_MS,
    lastPerSubject: true,
  },
  DECISIONS: {
    name: 'DECISIONS',
    subjects: ['decision.decided.>'],
    maxAgeMs: 7 * DAY_MS,
    maxBytes: 4 * 1024 ** 3,
    duplicateWindowMs: 2 * MINUTE_MS,
    lastPerSubject: false,
  },
  DEAD_LETTERS: {
    name: 'DEAD_LETTERS',
    subjects: ['dead.letter.>'],
    maxAgeMs: 30 * DAY_MS,
    maxBytes: 2 * 1024 ** 3,
    duplicateWindowMs: 2 * MINUTE_MS,
    lastPerSubject: false,
  },
} as const satisfies Record<string, StreamSpec>;
export type StreamName = keyof typeof STREAMS;

/** CloudEvents 1.0 attributes of a public event, sent as `ce-*` headers (NATS binary mode). */
export interface CloudEventAttributes {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  readonly time: string;
}

/** The durable consumer groups of the platform. */
export const GROUPS = {
  runTracking: 'run-tracking',
  decisions: 'run-tracking-decisions',
  guardrailEvaluator: 'guardrail-evaluator',
  actionDispatcher: 'action-dispatcher',
  breakerAlerts: 'action-dispatcher-breakers',
  acknowledgements: 'action-dispatcher-acks',
} as const;

/** A kind of message: its stream, its schema, and its id for deduplication. */
export interface Topic<T> {
  readonly name: string;
  readonly schema: z.ZodType<T>;
  /** `null`: core NATS, best effort, not stored. */
  readonly stream: StreamName | null;
  /** The subject a message is published on. */
  subject(message: T): string;
  /** The subscription pattern for all tenants or for one. */
  pattern(tenantId?: string): string;
  /** Id by which the broker deduplicates. */
  messageId(message: T): string | undefined;
  cloudEvent?(message: T): CloudEventAttributes;
  /** Facts about a message as headers, for readers that do not parse it. */
  readonly summary?: Summary<T>;
  /** Faster equivalent of `JSON.parse` for a message's UTF-8 text. @throws SyntaxError */
  parse?(raw: Uint8Array): unknown;
}

interface Summary<T> {
  headersOf(message: T): Readonly<Record<string, string>>;
  /** Returns whether the headers contain what `headersOf` writes; those of older and redriven messages do not. */
  isIn(headers: Readonly<Record<string, string>>): boolean;
}

/** Batches are trusted inside the platform: the gateway parsed the events, so only the envelope is validated again. */
const TrustedEventBatch = z.object({
  ...EventBatch.shape,
  events: z
    .array(z.custom<EventBatch['events'][number]>((event) => typeof event === 'object' && event !== null))
    .min(1),
}) satisfies z.ZodType<EventBatch>;

export const agentEvents: Topic<EventBatch> = {
  name: 'agent.events',
  schema: TrustedEventBatch,
  stream: 'AGENT_EVENTS',
  subject: subjectOfEvents,
  pattern: (tenantId = '*') => `agent.events.*.${tenantId}`,
  messageId: (batch) => batch.id,
  summary: {
    headersOf: (batch) => eventBatchHeaders(factsOfBatch(batch)),
    isIn: (headers) => eventBatchFacts(headers) !== undefined,
  },
  parse: parseBatch,
};

/** Returns the `agentEvents` subject for a batch. */
export function subjectOfEvents({ partition, tenantId }: Pick<EventBatch, 'partition' | 'tenantId'>): string {
  return `agent.events.${partition}.${tenantId}`;
}

/** Returns the tenant of an `agentEvents` subject. */
export function tenantOfEvents(subject: string): string {
  return subject.slice(subject.lastIndexOf('.') + 1);
}

export const guardrailTriggered: Topic<Trigger> = {
  name: 'guardrail.triggered',
  schema: Trigger,
  stream: 'GUARDRAILS',
  subject: (trigger) => `guardrail.triggered.${trigger.tenantId}.${subjectToken(trigger.ruleId)}`,
  pattern: (tenantId = '*') => `guardrail.triggered.${tenantId}.*`,
  messageId: (trigger) => trigger.id,
  cloudEvent: (trigger) => ({
    id: trigger.id,
    source: `/agentlens/tenants/${trigger.tenantId}/rules/${trigger.ruleId}`,
    type: 'dev.agentlens.guardrail.triggered.v1',
    subject: trigger.agentId,
    time: trigger.triggeredAt,
  }),
};

export const deliverySettled: Topic<DeliverySettled> = {
  name: 'delivery.settled',
  schema: DeliverySettled,
  stream: 'GUARDRAILS',
  subject: (settled) => `delivery.settled.${settled.tenantId}.${subjectToken(settled.actionType)}`,
  pattern: (tenantId = '*') => `delivery.settled.${tenantId}.*`,
  messageId: (settled) => `${settled.deliveryId}:${settled.result}:${settled.attempts}`,
  cloudEvent: (settled) => ({
    id: `${settled.deliveryId}:${settled.result}:${settled.attempts}`,
    source: `/agentlens/tenants/${settled.tenantId}/deliveries/${settled.deliveryId}`,
    type: 'dev.agentlens.delivery.settled.v1',
    subject: settled.agentId,
    time: settled.settledAt,
  }),
};

export const runChanged: Topic<RunChanged> = {
  name: 'run.changed',
  schema: RunChanged,
  stream: null,
  subject: (change) => `run.changed.${change.tenantId}`,
  pattern: (tenantId = '*') => `run.changed.${tenantId}`,
  messageId: () => undefined,
};

/** Heartbeats are not events, because events count in windows and totals. Best effort; run-tracking watches them. */
export const runHeartbeats: Topic<RunHeartbeats> = {
  name: 'run.heartbeat',
  schema: RunHeartbeats,
  stream: null,
  subject: (message) => `run.heartbeat.${message.tenantId}`,
  pattern: (tenantId = '*') => `run.heartbeat.${tenantId}`,
  messageId: () => undefined,
};

export const rulesChanged: Topic<RulesChanged> = {
  name: 'control.rules',
  schema: RulesChanged,
  stream: 'CONTROL',
  subject: (change) => `control.rules.${change.tenantId}`,
  pattern: (tenantId = '*') => `control.rules.${tenantId}`,
  messageId: (change) => `${change.tenantId}:${change.version}`,
};

export const keysChanged: Topic<KeysChanged> = {
  name: 'control.keys',
  schema: KeysChanged,
  stream: 'CONTROL',
  subject: (change) => `control.keys.${change.tenantId}.${subjectToken(change.keyId)}`,
  pattern: (tenantId = '*') => `control.keys.${tenantId}.*`,
  messageId: (change) => `${change.keyId}:${change.at}`,
};

export const pricesChanged: Topic<PricesChanged> = {
  name: 'control.prices',
  schema: PricesChanged,
  stream: 'CONTROL',
  subject: (change) => `control.prices.${change.tenantId}`,
  pattern: (tenantId = '*') => `control.prices.${tenantId}`,
  messageId: (change) => `prices:${change.tenantId}:${change.at}`,
};

export const keyUsed: Topic<KeyUsed> = {
  name: 'key.used',
  schema: KeyUsed,
  stream: null,
  subject: (use) => `key.used.${use.tenantId}`,
  pattern: (tenantId = '*') => `key.used.${tenantId}`,
  messageId: () => undefined,
};

export const directiveIssued: Topic<Directive> = {
  name: 'control.directive',
  schema: Directive,
  stream: 'CONTROL',
  subject: (directive) => `control.directive.${directive.tenantId}.${subjectToken(directive.agentId)}`,
  pattern: (tenantId = '*') => `control.directive.${tenantId}.*`,
  messageId: (directive) => directive.id,
};

export const decisionDecided: Topic<Decision> = {
  name: 'decision.decided',
  schema: Decision,
  stream: 'DECISIONS',
  subject: (decision) => `decision.decided.${decision.tenantId}`,
  pattern: (tenantId = '*') => `decision.decided.${tenantId}`,
  messageId: (decision) => decision.id,
};

export const alertChanged: Topic<Alert> = {
  name: 'alert.changed',
  schema: Alert,
  stream: 'GUARDRAILS',
  subject: (alert) => `alert.changed.${alert.tenantId}`,
  pattern: (tenantId = '*') => `alert.changed.${tenantId}`,
  messageId: (alert) => `${alert.id}:${alert.version}`,
  cloudEvent: (alert) => ({
    id: `${alert.id}:${alert.version}`,
    source: `/agentlens/tenants/${alert.tenantId}/alerts/${alert.id}`,
    type: 'dev.agentlens.alert.changed.v1',
    subject: alert.agentId,
    time: alert.decidedAt ?? alert.acknowledgedAt ?? alert.createdAt,
  }),
};

export const breakerChanged: Topic<BreakerChanged> = {
  name: 'breaker.changed',
  schema: BreakerChanged,
  stream: 'GUARDRAILS',
  subject: (change) => `breaker.changed.${change.tenantId}`,
  pattern: (tenantId = '*') => `breaker.changed.${tenantId}`,
  messageId: (change) => `${change.tenantId}:${change.scope}:${change.scopeId}:${change.version}`,
};

export const breakersDue: Topic<BreakersDue> = {
  name: 'breaker.due',
  schema: BreakersDue,
  stream: 'GUARDRAILS',
  subject: (due) => `breaker.due.${due.tenantId}`,
  pattern: (tenantId = '*') => `breaker.due.${tenantId}`,
  messageId: () => undefined,
};

export const controlOrdered: Topic<ControlOrder> = {
  name: 'control.order',
  schema: ControlOrder,
  stream: 'CONTROL',
  subject: (order) => `control.order.${order.tenantId}.${order.scope}.${subjectToken(order.scopeId)}`,
  pattern: (tenantId = '*') => `control.order.${tenantId}.*.*`,
  messageId: (order) => order.id,
};

export const directiveAcknowledged: Topic<DirectiveAcknowledged> = {
  name: 'directive.acknowledged',
  schema: DirectiveAcknowledged,
  stream: 'GUARDRAILS',
  subject: (ack) => `directive.acknowledged.${ack.tenantId}`,
  pattern: (tenantId = '*') => `directive.acknowledged.${tenantId}`,
  messageId: (ack) => `${ack.tenantId}:${ack.directiveId}:${ack.agentId}:${ack.instanceId}`,
};

export const deadLetters: Topic<DeadLetter> = {
  name: 'dead.letter',
  schema: DeadLetter,
  stream: 'DEAD_LETTERS',
  // Without a known tenant the last token is left out, so that no tenant reads the message.
  subject: (letter) => ['dead.letter', subjectToken(letter.group), tenantOfLetter(letter)].filter(Boolean).join('.'),
  pattern: (tenantId) => (tenantId === undefined ? 'dead.letter.>' : `dead.letter.*.${tenantId}`),
  messageId: (letter) => `${letter.group}:${letter.messageId}`,
};

export const TOPICS = [
  agentEvents,
  guardrailTriggered,
  deliverySettled,
  runChanged,
  runHeartbeats,
  rulesChanged,
  keysChanged,
  pricesChanged,
  keyUsed,
  directiveIssued,
  controlOrdered,
  directiveAcknowledged,
  decisionDecided,
  alertChanged,
  breakerChanged,
  breakersDue,
  deadLetters,
] as const;

/** Consumer groups and their topics. Each group must settle every message. */
export const CONSUMERS = [
  { group: GROUPS.runTracking, topic: agentEvents },
  { group: GROUPS.decisions, topic: decisionDecided },
  { group: GROUPS.guardrailEvaluator, topic: agentEvents },
  { group: GROUPS.actionDispatcher, topic: guardrailTriggered },
  { group: GROUPS.breakerAlerts, topic: breakerChanged },
  { group: GROUPS.acknowledgements, topic: directiveAcknowledged },
] as const;

/**
 * Returns the tenant of a dead letter from its subject, which its publisher derived from an authenticated key. Does not
 * trust the body, which may be unreadable. Undefined if the topic's subject has no tenant.
 */
export function tenantOfLetter({ topic: name, subject }: Pick<DeadLetter, 'topic' | 'subject'>): string | undefined {
  const topic = TOPICS.find((one) => one.name === name);
  const place = topic?.pattern(TENANT_PLACE).split('.').indexOf(TENANT_PLACE) ?? -1;
  const tenant = TenantId.safeParse(subject.split('.')[place]);
  return tenant.success ? tenant.data : undefined;
}

const TENANT_PLACE = 'TENANT';
