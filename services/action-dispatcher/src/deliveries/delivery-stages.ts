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
import { type PipelineStage, type Release, runStages, type SecretBox, withDeadline } from '@agentlens/platform';
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { ALERT_WEBHOOK } from '../alerts/alert-webhook.ts';
import type { DeliveryMetrics } from '../delivery-metrics.ts';
import type { DestinationBreakers } from '../destinations/destinations.ts';
import { secretContext } from '../webhooks/webhook-endpoints.service.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import { type Ending, type Execution, executionOf } from './execution.ts';
import { actionFor, type PreparedAction } from './prepared-action.ts';
import type { ResultRecorder } from './result-recorder.ts';
import { isStale } from './retry-schedule.ts';

export interface DeliveryParts {
  readonly egress: EgressClient;
  readonly directives: Directives;
  readonly alerts: Alerts;
  readonly secrets: SecretBox;
  readonly breakers: DestinationBreakers;
  readonly results: Pick<ResultRecorder, 'record'>;
  readonly metrics: Pick<DeliveryMetrics, 'ended' | 'delivered'>;
  readonly now: () => number;
  /** Uniform in [0, 1); spreads retries. */
  readonly random: () => number;
  readonly onError: (error: unknown, delivery: ClaimedDelivery) => void;
  /** Timeout of an attempt. Must end well before the lease. */
  readonly deadlineMs: number;
  /** Base of links to the console. */
  readonly publicUrl?: string | undefined;
}

/** Gave the delivery its lease and its slot. */
export interface DeliveryHolder {
  /** Frees the slot. Returns the deliveries that are not to be started, because they wait for the same destination. */
  leaveSlot(delivery: ClaimedDelivery, ending: Ending | undefined, durationMs: number): readonly ClaimedDelivery[];
  giveBackLeases(deliveries: readonly ClaimedDelivery[]): void;
  /** Gives back the leases of deliveries, and makes them due again without an attempt. */
  sendBack(deliveries: readonly ClaimedDelivery[]): Promise<void>;
}

/** A claimed delivery on its way through the stages, with what they found out. */
export interface DeliveryWork {
  readonly delivery: ClaimedDelivery;
  readonly holder: DeliveryHolder;
  action?: PreparedAction;
  attemptedAt?: number;
  config?: JsonObject;
  send?: (tools: ActionDependencies) => Promise<ActionOutcome>;
  /** The last request of the attempt and its response, set as they happen: a timed-out attempt has sent something too. */
  request?: ActionRequest;
  response?: ActionResponse;
  endedAt: number;
  execution?: Execution;
  /** Deliveries that are not started, because they waited for a destination that is gone. */
  sentBack: readonly ClaimedDelivery[];
}

/** A stage of the whole delivery. None ends it early. */
export type DeliveryStage = PipelineStage<DeliveryWork>;
/** A stage that may end a delivery, with or without an attempt. */
type EndingStage = PipelineStage<DeliveryWork, Ending>;
/** A stage of an attempt. */
type AttemptStage = PipelineStage<DeliveryWork, ActionOutcome>;

/** Gives back the lease at the end, and those of deliveries that could not be sent back. */
export class LeaseStage implements DeliveryStage {
  run(work: DeliveryWork): Release<never> {
    return () => work.holder.giveBackLeases([work.delivery, ...work.sentBack]);
  }
}

/** Runs the stages until one ends the delivery, and decides what to record. */
export class CarryOutStage implements DeliveryStage {
  constructor(
    private readonly parts: Pick<DeliveryParts, 'random'>,
    private readonly stages: readonly EndingStage[],
  ) {}

  async run(work: DeliveryWork): Promise<undefined> {
    work.execution = executionOf(work, endingOf(await runStages(this.stages, work)), this.parts.random);
  }
}

/** Frees the slot when the delivery has ended, and measures it. */
export class SlotStage implements EndingStage {
  constructor(private readonly parts: Pick<DeliveryParts, 'metrics' | 'now'>) {}

  run(work: DeliveryWork): Release<Ending> {
    const { now } = this.parts;
    const startedAt = now();
    return (ending) => {
      work.endedAt = now();
      const durationMs = work.endedAt - startedAt;
      if (ending !== undefined) this.#measure(work, ending, durationMs);
      work.sentBack = work.holder.leaveSlot(work.delivery, ending, durationMs);
    };
  }

  #measure({ delivery, endedAt }: DeliveryWork, { kind }: Ending, durationMs: number): void {
    const { metrics } = this.parts;
    const { actionType, triggeredAt } = delivery;
    metrics.ended(actionType, kind === 'given_up' ? 'dropped' : kind, durationMs);
    if (kind === 'delivered') metrics.delivered(actionType, endedAt - Date.parse(triggeredAt));
  }
}

/** Gives up a delivery that has nothing to carry out. */
export class ActionStage implements EndingStage {
  constructor(private readonly parts: Pick<DeliveryParts, 'publicUrl'>) {}

  run(work: DeliveryWork): Ending | undefined {
    const action = actionFor(work.delivery, this.parts.publicUrl);
    if (typeof action === 'string') return { kind: 'given_up', why: 'impossible', reason: action };
    work.action = action;
    return undefined;
  }
}

/** Gives up a delivery whose destination is disabled. */
export class EnabledStage implements EndingStage {
  run({ delivery: { disabled } }: DeliveryWork): Ending | undefined {
    if (disabled === null) return undefined;
    const reason = `the destination is disabled (${disabled}); redeliver to enable it again`;
    return { kind: 'given_up', why: 'disabled', reason };
  }
}

/**
 * Defers a delivery while the breaker of its destination is open, or gives it up if it has waited for too long.
 * Otherwise the breaker learns from the attempt.
 */
export class BreakerStage implements EndingStage {
  constructor(private readonly parts: Pick<DeliveryParts, 'breakers' | 'now'>) {}

  run({ delivery, action }: DeliveryWork): Ending | Release<Ending> | undefined {
    const { breakers, now } = this.parts;
    const { destination, createdAt } = delivery;
    if (destination === null) return undefined;
    const admission = breakers.admit(destination, now());
    if (admission.admitted) {
      return (ending) => {
        const health = ending === undefined ? undefined : healthShownBy(ending);
        if (health !== undefined) breakers.learn(destination, health, now());
      };
    }
    if (isStale(found(action).urgency, Date.parse(createdAt), now())) {
      return { kind: 'given_up', why: 'waited_too_long', reason: 'the destination was unavailable for too long' };
    }
    const reason = 'the destination is unavailable, waiting for it to recover';
    return { kind: 'deferred', untilMs: admission.retryAtMs, reason };
  }
}

/** Runs the stages of an attempt in a span of the trace of its trigger. */
export class SpanStage implements EndingStage {
  constructor(
    private readonly parts: Pick<DeliveryParts, 'now'>,
    private readonly stages: readonly AttemptStage[],
  ) {}

  run(work: DeliveryWork): Promise<ActionOutcome> {
    work.attemptedAt = this.parts.now();
    return inDeliverySpan(work.delivery, async () => endingOf(await runStages(this.stages, work)));
  }
}

/** Opens the secrets of the config. A key that is missing now may be back at the next attempt. */
export class SecretsStage implements AttemptStage {
  constructor(private readonly parts: Pick<DeliveryParts, 'secrets' | 'onError'>) {}

  run(work: DeliveryWork): ActionOutcome | undefined {
    const { secrets, onError } = this.parts;
    try {
      work.config = openSecrets(secrets, work.delivery);
      return undefined;
    } catch (error) {
      onError(error, work.delivery);
      const reason = 'a secret of the rule cannot be opened with the key in use';
      return { kind: 'retry', reason, destinationDown: false };
    }
  }
}

/** Rejects a config that is no longer valid. */
export class ConfigStage implements AttemptStage {
  run(work: DeliveryWork): ActionOutcome | undefined {
    const send = found(work.action).prepare(work.config ?? {});
    if (typeof send === 'string') return { kind: 'rejected', reason: send };
    work.send = send;
    return undefined;
  }
}

/** Carries out the action, which ends the attempt. */
export class SendStage implements AttemptStage {
  constructor(
    private readonly parts: Pick<DeliveryParts, 'egress' | 'directives' | 'alerts' | 'now' | 'onError' | 'deadlineMs'>,
  ) {}

  async run(work: DeliveryWork): Promise<ActionOutcome> {
    const { onError, deadlineMs } = this.parts;
    if (work.send === undefined) throw new Error('a delivery is sent after its config was read');
    try {
      return await withDeadline(work.send(this.#toolsFor(work)), deadlineMs);
    } catch (error) {
      onError(error, work.delivery);
      return { kind: 'retry', reason: 'the attempt could not be completed', destinationDown: false };
    }
  }

  #toolsFor(work: DeliveryWork): ActionDependencies {
    const { egress, directives, alerts, now } = this.parts;
    const { delivery } = work;
    return {
      deliveryId: delivery.deliveryId,
      now,
      directives,
      alerts,
      send: async (asked) => {
        const request = { ...asked, headers: { ...asked.headers, ...traceHeaders(delivery) } };
        work.request = request;
        const response = await egress.send(request);
        work.response = response;
        return response;
      },
    };
  }
}

/** Waits until the result is recorded. */
export class RecordStage implements DeliveryStage {
  constructor(private readonly parts: Pick<DeliveryParts, 'results'>) {}

  async run({ delivery, execution }: DeliveryWork): Promise<undefined> {
    if (execution === undefined) throw new Error('a delivery is recorded after it was carried out');
    await this.parts.results.record(delivery, execution);
  }
}

/** Sends back what waited for a destination that is gone. The next claim sees that it is disabled. */
export class SendBackStage implements DeliveryStage {
  async run(work: DeliveryWork): Promise<undefined> {
    const { holder, sentBack } = work;
    work.sentBack = [];
    if (sentBack.length > 0) await holder.sendBack(sentBack);
  }
}

function endingOf<E>(ending: E | undefined): E {
  if (ending === undefined) throw new Error('the last stage always ends the delivery');
  return ending;
}

function found(action: PreparedAction | undefined): PreparedAction {
  if (action === undefined) throw new Error('the action of a delivery is found first');
  return action;
}

/** Only a response proves that a destination is up; a request that never left says nothing about it. */
function healthShownBy(ending: Ending): 'up' | 'down' | undefined {
  if (ending.kind === 'given_up' || ending.kind === 'deferred') return undefined;
  if (ending.kind === 'retry' && ending.destinationDown) return 'down';
  return ending.httpStatus === undefined ? undefined : 'up';
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
