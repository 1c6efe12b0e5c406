import { create, type DescMessage, fromJson, type JsonValue, toJson } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { z } from 'zod';
import { ALERT_STATUSES, Alert } from './alerts.ts';
import { BREAKER_REASONS, BreakerChanged } from './breakers.ts';
import { CONTROL_SCOPES, ControlOrder, Directive, DirectiveAcknowledged } from './control.ts';
import { DeadLetter } from './dead-letters.ts';
import { ASK_REASONS, DECISION_EFFECTS, DECISION_PHASES, Decision } from './decisions.ts';
import { EVENT_KINDS, EventBatch, SEVERITIES } from './events.ts';
import {
  ControlOrderSchema,
  DeadLetterSchema,
  DirectiveAcknowledgedSchema,
  DirectiveSchema,
  KeysChangedSchema,
  KeyUsedSchema,
  PricesChangedSchema,
  RulesChangedSchema,
  RunChangedSchema,
  RunHeartbeatsSchema,
} from './generated/agentlens/v1/control_pb.ts';
import { DecisionSchema } from './generated/agentlens/v1/decisions_pb.ts';
import { EventBatchSchema } from './generated/agentlens/v1/events_pb.ts';
import {
  AlertSchema,
  BreakerChangedSchema,
  DeliverySettledSchema,
  TriggerSchema,
} from './generated/agentlens/v1/guardrails_pb.ts';
import { KeysChanged, KeyUsed, PricesChanged, RulesChanged, RunChanged, RunHeartbeats } from './notices.ts';
import { ACTION_RESULTS, COMPARISON_WORDS, DeliverySettled, Trigger } from './triggers.ts';

const instant = fc
  .date({ min: new Date('2020-01-01'), max: new Date('2035-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
const text = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme-ascii' });
const tenantId = fc.stringMatching(/^[a-z0-9-]{1,10}$/);
const count = fc.nat(1_000_000);
const amount = fc.double({ min: 0, max: 1e6, noNaN: true }).map((value) => value + 0);
const object = fc.dictionary(
  text.filter((key) => key !== '__proto__'),
  fc.oneof(fc.string(), fc.boolean(), fc.constant(null), amount),
  { noNullPrototype: true },
);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
/** Converts a message to its wire form, because JSON has no undefined. */
const onTheWire = <T>(value: T): JsonValue => JSON.parse(JSON.stringify(value)) as JsonValue;

/** An absent list and an empty one mean the same in proto3. */
const comparable = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (_key, item) => (Array.isArray(item) && item.length === 0 ? undefined : item)));

const usage = fc.record({
  inputTokens: optional(count),
  outputTokens: optional(count),
  totalTokens: optional(count),
  cacheReadTokens: optional(count),
  cacheWriteTokens: optional(count),
  cacheWrite1hTokens: optional(count),
  reasoningTokens: optional(count),
  audioInputTokens: optional(count),
  audioOutputTokens: optional(count),
  cacheReadAudioTokens: optional(count),
  webSearches: optional(count),
  fileSearches: optional(count),
  countsFrom: optional(fc.constantFrom('provider', 'computed')),
  reportedBy: optional(text),
  serviceTier: optional(text),
  costUsd: optional(amount),
  computedCostUsd: optional(amount),
  feesUsd: optional(amount),
  approximation: optional(text),
  priceRef: optional(text),
  unpricedReason: optional(text),
  estimatedCostUsd: optional(amount),
  costSource: optional(fc.constantFrom('reported', 'priced', 'unpriced')),
  latencyMs: optional(amount),
});
const event = fc.record({
  id: text,
  agentId: text,
  runId: text,
  sessionId: optional(text),
  parentRunId: optional(text),
  parentToolUseId: optional(text),
  kind: fc.constantFrom(...EVENT_KINDS),
  dialect: text,
  sourceType: text,
  severity: fc.constantFrom(...SEVERITIES),
  isError: fc.boolean(),
  occurredAt: instant,
  retryable: fc.boolean(),
  hash: text,
  agentName: optional(text),
  agentVersion: optional(text),
  actorId: optional(text),
  toolName: optional(text),
  callId: optional(text),
  model: optional(text),
  provider: optional(text),
  outcome: optional(fc.constantFrom('succeeded', 'failed', 'timed_out', 'cancelled', 'interrupted')),
  usage: optional(usage),
  tags: optional(fc.array(text, { minLength: 1, maxLength: 3 })),
  payload: object,
  metadata: object,
});
const version = fc.integer({ min: 1, max: 1000 });
const effect = fc.constantFrom(...DECISION_EFFECTS);
const cause = fc.oneof(
  fc.constant({ kind: 'ALLOW' }),
  fc.record({ kind: fc.constant('RULE_VIOLATION'), ruleId: text }),
  fc.record({ kind: fc.constant('HITL_PENDING'), approvalId: text, ruleId: optional(text) }),
  fc.record({ kind: fc.constant('LOCKDOWN'), lockdownId: optional(text) }),
);
const opened = { openedAt: instant, reason: fc.constantFrom(...BREAKER_REASONS) };
const breaker = fc.oneof(
  fc.constant({ kind: 'closed' }),
  fc.record({ kind: fc.constant('open'), ...opened }),
  fc.record({ kind: fc.constant('half_open'), ...opened, probe: text }),
);
const because = { at: instant, reason: text, triggerId: optional(text) };

const CASES: readonly { name: string; zod: z.ZodType; proto: DescMessage; values: fc.Arbitrary<unknown> }[] = [
  {
    name: 'EventBatch',
    zod: EventBatch,
    proto: EventBatchSchema,
    values: fc.record({
      id: text,
      tenantId,
      partition: fc.nat(63).map((n) => String(n).padStart(2, '0')),
      receivedAt: instant,
      events: fc.array(event, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    name: 'Trigger',
    zod: Trigger,
    proto: TriggerSchema,
    values: fc.record({
      id: text,
      tenantId,
      ruleId: text,
      ruleVersion: fc.integer({ min: 1, max: 1000 }),
      ruleName: text,
      agentId: text,
      runId: optional(text),
      eventId: optional(text),
      conditionType: text,
      conditionValue: amount,
      conditionThreshold: amount,
      comparison: optional(fc.constantFrom(...COMPARISON_WORDS)),
      actionType: text,
      cooldownMinutes: fc.nat(1440),
      dryRun: fc.boolean(),
      message: text,
      triggeredAt: instant,
    }),
  },
  {
    name: 'DeliverySettled',
    zod: DeliverySettled,
    proto: DeliverySettledSchema,
    values: fc.record({
      deliveryId: text,
      triggerId: text,
      tenantId,
      ruleId: text,
      agentId: text,
      actionType: text,
      result: fc.constantFrom(...ACTION_RESULTS),
      attempts: fc.nat(100),
      detail: optional(text),
      settledAt: instant,
    }),
  },
  {
    name: 'Directive',
    zod: Directive,
    proto: DirectiveSchema,
    values: fc.record({
      id: text,
      tenantId,
      agentId: text,
      version: fc.integer({ min: 1, max: 1000 }),
      paused: fc.option(fc.record(because), { nil: null }),
      modelOverride: fc.option(fc.record({ model: text, ...because }), { nil: null }),
      issuedAt: instant,
    }),
  },
  {
    name: 'ControlOrder',
    zod: ControlOrder,
    proto: ControlOrderSchema,
    values: fc.record({
      id: text,
      tenantId,
      scope: fc.constantFrom(...CONTROL_SCOPES),
      scopeId: text,
      state: fc.constantFrom('running', 'paused', 'killed'),
      reason: text,
      by: text,
      version,
      issuedAt: instant,
    }),
  },
  {
    name: 'DirectiveAcknowledged',
    zod: DirectiveAcknowledged,
    proto: DirectiveAcknowledgedSchema,
    values: fc.record({
      ...{ tenantId, directiveId: text, agentId: text, instanceId: text, acknowledgedAt: instant },
      signature: optional(fc.record({ connection: text, version, mac: text })),
    }),
  },
  {
    name: 'RunHeartbeats',
    zod: RunHeartbeats,
    proto: RunHeartbeatsSchema,
    values: fc.record({
      tenantId,
      beats: fc.array(
        fc.record({ runId: text, agentId: text, at: instant, everyMs: optional(fc.integer({ min: 1, max: 1e9 })) }),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
  {
    name: 'Decision',
    zod: Decision,
    proto: DecisionSchema,
    values: fc.record({
      id: text,
      tenantId,
      agentId: text,
      runId: text,
      phase: fc.constantFrom(...DECISION_PHASES),
      toolName: optional(text),
      callId: optional(text),
      verdict: fc.constantFrom('ALLOW', 'BLOCK'),
      control: fc.constantFrom('CONTINUE', 'TERMINATE'),
      effect,
      cause,
      message: text,
      evaluatedRules: fc.array(
        fc.record({
          ruleId: text,
          ruleVersion: version,
          enabled: fc.boolean(),
          matched: fc.boolean(),
          violated: fc.boolean(),
          effect,
          mode: fc.constantFrom('enforce', 'shadow'),
          value: optional(amount),
          limit: optional(amount),
          flow: optional(
            fc.record({
              label: text,
              grade: fc.constantFrom('possible' as const, 'carried' as const, 'proven' as const),
              field: optional(text),
              source: fc.record({ runId: text, agentId: text, toolName: text, callId: optional(text), at: instant }),
            }),
          ),
        }),
        { maxLength: 3 },
      ),
      decider: optional(
        fc.record({
          by: fc.constantFrom('evaluator' as const, 'gateway' as const),
          book: optional(text),
          asked: optional(fc.constantFrom(...ASK_REASONS)),
          askedForRule: optional(text),
        }),
      ),
      wouldHave: optional(effect),
      finalRuleId: optional(text),
      modifiedArgs: optional(fc.oneof(object, text, fc.array(amount, { minLength: 1, maxLength: 3 }))),
      approvalId: optional(text),
      bypasses: fc.array(
        fc.record({
          ruleId: text,
          why: fc.constantFrom('missing', 'unavailable', 'deadline', 'error'),
          did: fc.constantFrom('allow', 'block'),
        }),
        { maxLength: 3 },
      ),
      inputsDigest: text,
      latencyMs: amount,
      decidedAt: instant,
    }),
  },
  {
    name: 'Alert',
    zod: Alert,
    proto: AlertSchema,
    values: fc.record({
      id: text,
      tenantId,
      kind: fc.constantFrom('approval', 'breaker', 'rule'),
      status: fc.constantFrom(...ALERT_STATUSES),
      severity: fc.constantFrom('info', 'warn', 'error', 'critical'),
      title: text,
      message: text,
      agentId: text,
      runId: optional(text),
      ruleId: optional(text),
      approval: optional(
        fc.record({
          runId: text,
          callId: optional(text),
          toolName: text,
          argsHash: text,
          ruleId: text,
          ruleVersion: version,
        }),
      ),
      askedBy: optional(text),
      createdAt: instant,
      expiresAt: optional(instant),
      acknowledgedAt: optional(instant),
      acknowledgedBy: optional(text),
      decidedAt: optional(instant),
      decidedBy: optional(text),
      reason: optional(text),
      usedAt: optional(instant),
      version,
      suppressed: optional(version),
    }),
  },
  {
    name: 'BreakerChanged',
    zod: BreakerChanged,
    proto: BreakerChangedSchema,
    values: fc.record({
      tenantId,
      scope: fc.constantFrom('run', 'agent'),
      scopeId: text,
      agentId: text,
      state: breaker,
      limit: optional(amount),
      version,
      at: instant,
    }),
  },
  {
    name: 'RunChanged',
    zod: RunChanged,
    proto: RunChangedSchema,
    values: fc.record({ tenantId, runIds: fc.array(text), at: instant }),
  },
  {
    name: 'RulesChanged',
    zod: RulesChanged,
    proto: RulesChangedSchema,
    values: fc.record({ tenantId, version: text, at: instant }),
  },
  {
    name: 'KeyUsed',
    zod: KeyUsed,
    proto: KeyUsedSchema,
    values: fc.record({ tenantId, keyId: text, at: instant }),
  },
  {
    name: 'KeysChanged',
    zod: KeysChanged,
    proto: KeysChangedSchema,
    values: fc.record({ tenantId, keyId: text, at: instant }),
  },
  {
    name: 'PricesChanged',
    zod: PricesChanged,
    proto: PricesChangedSchema,
    values: fc.record({ tenantId, at: instant }),
  },
  {
    name: 'DeadLetter',
    zod: DeadLetter,
    proto: DeadLetterSchema,
    values: fc.record({
      group: text,
      topic: text,
      subject: text,
      messageId: text,
      reason: text,
      attempts: fc.integer({ min: 1, max: 100 }),
      failedAt: instant,
      body: text,
    }),
  },
];

describe('proto and zod agree', () => {
  it.each(CASES)('on $name: each reads what the other writes, unchanged', ({ zod, proto, values }) => {
    fc.assert(
      fc.property(values, (value) => {
        const wire = onTheWire(zod.parse(value));
        // Unknown fields are an error by default, so a zod field without a proto field fails here.
        const message = fromJson(proto, wire);
        const back = toJson(proto, message, { alwaysEmitImplicit: true });
        expect(comparable(zod.parse(back))).toEqual(comparable(zod.parse(wire)));
      }),
      { numRuns: 100 },
    );
  });

  it.each(CASES)('on the fields of $name: zod has every field', ({ zod, proto }) => {
    const shape = Object.keys((zod as z.ZodObject).shape).sort();
    expect(proto.fields.map((field) => field.jsonName).sort()).toEqual(shape);
    expect(create(proto)).toBeDefined();
  });
});
