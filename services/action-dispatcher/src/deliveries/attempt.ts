import type { JsonObject } from '@agentlens/contracts';
import type { EgressClient } from '@agentlens/egress';
import type {
  ActionDependencies,
  ActionOutcome,
  ActionRequest,
  ActionResponse,
  Alerts,
  Directives,
} from '@agentlens/guardrails';
import { mapActionSecrets } from '@agentlens/guardrails/actions';
import { type SecretBox, withDeadline } from '@agentlens/platform';
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { ALERT_WEBHOOK } from '../alerts/alert-webhook.ts';
import { CHANNEL_NOTICE } from '../channels/channel-kinds.ts';
import { secretContext } from '../webhooks/webhook-endpoints.service.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import type { Attempted } from './execution.ts';
import type { PreparedAction } from './prepared-action.ts';

export interface AttemptDependencies {
  readonly egress: EgressClient;
  readonly directives: Directives;
  readonly alerts: Alerts;
  readonly secrets: SecretBox;
  readonly now: () => number;
  readonly onError: (error: unknown, delivery: ClaimedDelivery) => void;
  /** Timeout of an attempt. Must end well before the lease. */
  readonly deadlineMs: number;
}

/** The last request of an attempt and its response, set as they happen: a timed-out attempt has sent something too. */
interface Exchange {
  request?: ActionRequest;
  response?: ActionResponse;
}

/** Makes one attempt, in a span of the trace of its trigger. */
export async function attempt(
  parts: AttemptDependencies,
  delivery: ClaimedDelivery,
  action: PreparedAction,
): Promise<Attempted> {
  const attemptedAt = parts.now();
  const exchange: Exchange = {};
  const ending = await inDeliverySpan(delivery, () => send(parts, delivery, action, exchange));
  return { ending, urgency: action.urgency, attemptedAt, ...exchange };
}

async function send(
  parts: AttemptDependencies,
  delivery: ClaimedDelivery,
  action: PreparedAction,
  exchange: Exchange,
): Promise<ActionOutcome> {
  const { secrets, onError, deadlineMs } = parts;
  let config: JsonObject;
  try {
    config = openSecrets(secrets, delivery);
  } catch (error) {
    onError(error, delivery);
    // A key that is missing now may be back at the next attempt.
    const reason = 'a secret of the rule cannot be opened with the key in use';
    return { kind: 'retry', reason, destinationDown: false };
  }
  const execute = action.prepare(config);
  if (typeof execute === 'string') return { kind: 'rejected', reason: execute };
  try {
    return await withDeadline(execute(toolsFor(parts, delivery, exchange)), deadlineMs);
  } catch (error) {
    onError(error, delivery);
    return { kind: 'retry', reason: 'the attempt could not be completed', destinationDown: false };
  }
}

function toolsFor(
  { egress, directives, alerts, now }: AttemptDependencies,
  delivery: ClaimedDelivery,
  exchange: Exchange,
): ActionDependencies {
  return {
    deliveryId: delivery.deliveryId,
    now,
    directives,
    alerts,
    send: async (asked) => {
      const request = { ...asked, headers: { ...asked.headers, ...traceHeaders(delivery) } };
      exchange.request = request;
      const response = await egress.send(request);
      exchange.response = response;
      return response;
    },
  };
}

/**
 * Opens the secrets of an action's config for one attempt. They are sealed for the rule or webhook endpoint that they
 * belong to.
 *
 * @throws Error if a secret was altered or sealed with a key that this process does not have
 */
function openSecrets(
  secrets: SecretBox,
  { actionType, actionConfig, tenantId, ruleId, webhookId }: Sealed,
): JsonObject {
  // Its secrets are those of the channel, which is read when the notice is sent.
  if (actionType === CHANNEL_NOTICE) return actionConfig;
  const context = webhookId === null ? [tenantId, 'guardrail_rules', ruleId] : secretContext(tenantId, webhookId);
  const opened = (text: string) => (secrets.isSealed(text) ? secrets.open(text, context) : text);
  if (actionType !== ALERT_WEBHOOK && webhookId === null) return mapActionSecrets(actionType, actionConfig, opened);
  const { secret, ...rest } = actionConfig;
  return typeof secret === 'string' ? { ...rest, secret: opened(secret) } : rest;
}

interface Sealed {
  readonly actionType: string;
  readonly actionConfig: JsonObject;
  readonly tenantId: string;
  readonly ruleId: string;
  readonly webhookId: string | null;
}

/** Runs an attempt in a span of the trace of its trigger. */
function inDeliverySpan(delivery: ClaimedDelivery, run: () => Promise<ActionOutcome>): Promise<ActionOutcome> {
  const parent =
    delivery.traceparent === null
      ? ROOT_CONTEXT
      : propagation.extract(ROOT_CONTEXT, { traceparent: delivery.traceparent });
  const attributes = {
    'agentlens.tenant.id': delivery.tenantId,
    'agentlens.rule.id': delivery.ruleId,
    'agentlens.action.type': delivery.actionType,
    'agentlens.delivery.id': delivery.deliveryId,
    'agentlens.delivery.attempt': delivery.attempts + 1,
  };
  const tracer = trace.getTracer('@agentlens/action-dispatcher');
  const options = { kind: SpanKind.CLIENT, attributes };
  return tracer.startActiveSpan(`deliver ${delivery.actionType}`, options, parent, async (span) => {
    try {
      const outcome = await run();
      span.setAttribute('agentlens.delivery.outcome', outcome.kind);
      if (outcome.httpStatus !== undefined) span.setAttribute('http.response.status_code', outcome.httpStatus);
      if (outcome.kind !== 'delivered') span.setStatus({ code: SpanStatusCode.ERROR, message: outcome.reason });
      return outcome;
    } finally {
      span.end();
    }
  });
}

/** W3C trace context for the receiver: that of the active span, otherwise that of the trigger. */
function traceHeaders({ traceparent }: ClaimedDelivery): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  if (headers.traceparent === undefined && traceparent !== null) headers.traceparent = traceparent;
  return headers;
}
