import type { ActionOutcome } from '@agentlens/guardrails';
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ClaimedDelivery } from './claimed-delivery.ts';

/** Runs an attempt in a span of the trace of its trigger. */
export function inDeliverySpan(delivery: ClaimedDelivery, run: () => Promise<ActionOutcome>): Promise<ActionOutcome> {
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
export function traceHeaders({ traceparent }: ClaimedDelivery): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  if (headers.traceparent === undefined && traceparent !== null) headers.traceparent = traceparent;
  return headers;
}
