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
import type { DestinationBreakers } from '../destinations/destinations.ts';
import { secretContext } from '../webhooks/webhook-endpoints.service.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import { exchangeOf } from './exchange.ts';
import { actionFor, addressOf, type PreparedAction } from './prepared-action.ts';
import { isStale, pauseAfter } from './retry-schedule.ts';
import type { GivenUpDelivery, Next, Settlement } from './settlements.repository.ts';

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

/** Result of the pipeline: what to record. */
export type Execution =
  | { readonly kind: 'settle'; readonly settlement: Settlement }
  /** The destination's breaker is open: no attempt was made and none is used up. */
  | { readonly kind: 'defer'; readonly untilMs: number; readonly reason: string };

interface PipelineDependencies {
  readonly egress: EgressClient;
  readonly directives: Directives;
  readonly alerts: Alerts;
  readonly secrets: SecretBox;
  readonly breakers: DestinationBreakers;
  readonly now: () => number;
  /** Uniform in [0, 1); spreads retries. */
  readonly random: () => number;
  readonly onError: (error: unknown, delivery: ClaimedDelivery) => void;
  /** Timeout of an attempt. Must end well before the lease. */
  readonly deadlineMs: number;
  /** Base of links to the console. */
  readonly publicUrl?: string | undefined;
}

/** One delivery on its way through the stages, with what they found out. */
interface Work {
  readonly delivery: ClaimedDelivery;
  action?: PreparedAction;
  config?: JsonObject;
  send?: (tools: ActionDependencies) => Promise<ActionOutcome>;
  /** The last request of the attempt and its response, set as they happen: a timed-out attempt has sent something too. */
  request?: ActionRequest;
  response?: ActionResponse;
}

const MAX_DETAIL = 300;

/**
 * Carries out one claimed delivery once. The worker claims before and records after; in between, in this order:
 *
 * checks, which end a delivery without an attempt: `findAction`, `checkEnabled`, `admit`;
 * the attempt, whose steps end it with an outcome: `openSecrets`, `readConfig`, `send`;
 * then `learn` tells the destination's breaker, and `schedule` decides what comes next.
 */
export class DeliveryPipeline {
  readonly #dependencies: PipelineDependencies;
  readonly #checks: readonly ((work: Work) => Execution | undefined)[] = [
    (work) => this.#findAction(work),
    (work) => this.#checkEnabled(work),
    (work) => this.#admit(work),
  ];
  readonly #attempt: readonly ((work: Work) => ActionOutcome | undefined | Promise<ActionOutcome>)[] = [
    (work) => this.#openSecrets(work),
    (work) => this.#readConfig(work),
    (work) => this.#send(work),
  ];

  constructor(dependencies: PipelineDependencies) {
    this.#dependencies = dependencies;
  }

  /** Never throws for what can be wrong with a delivery: that is part of the result. */
  async execute(delivery: ClaimedDelivery): Promise<Execution> {
    const work: Work = { delivery };
    for (const check of this.#checks) {
      const ended = check(work);
      if (ended !== undefined) return ended;
    }
    const startedAt = this.#dependencies.now();
    const outcome = await inDeliverySpan(delivery, () => this.#outcomeOf(work));
    this.#learn(delivery, outcome);
    return this.#schedule(work, outcome, startedAt);
  }

  #findAction(work: Work): Execution | undefined {
    const action = actionFor(work.delivery, this.#dependencies.publicUrl);
    if (typeof action === 'string') return this.#giveUp('impossible', action);
    work.action = action;
    return undefined;
  }

  #checkEnabled({ delivery: { disabled } }: Work): Execution | undefined {
    if (disabled === null) return undefined;
    return this.#giveUp('disabled', `the destination is disabled (${disabled}); redeliver to enable it again`);
  }

  /** While the breaker is open the delivery waits; one that has waited for too long is given up. */
  #admit(work: Work): Execution | undefined {
    const { breakers, now } = this.#dependencies;
    const { destination, createdAt } = work.delivery;
    if (destination === null) return undefined;
    const admission = breakers.admit(destination, now());
    if (admission.admitted) return undefined;
    if (isStale(actionOf(work).urgency, Date.parse(createdAt), now())) {
      return this.#giveUp('waited_too_long', 'the destination was unavailable for too long');
    }
    const reason = 'the destination is unavailable, waiting for it to recover';
    return { kind: 'defer', untilMs: admission.retryAtMs, reason };
  }

  async #outcomeOf(work: Work): Promise<ActionOutcome> {
    for (const step of this.#attempt) {
      const outcome = await step(work);
      if (outcome !== undefined) return outcome;
    }
    throw new Error('the last step of an attempt always has an outcome');
  }

  #openSecrets(work: Work): ActionOutcome | undefined {
    const { secrets, onError } = this.#dependencies;
    try {
      work.config = openSecrets(secrets, work.delivery);
      return undefined;
    } catch (error) {
      onError(error, work.delivery);
      const reason = 'a secret of the rule cannot be opened with the key in use';
      return { kind: 'retry', reason, destinationDown: false };
    }
  }

  #readConfig(work: Work): ActionOutcome | undefined {
    const send = actionOf(work).prepare(work.config ?? {});
    if (typeof send === 'string') return { kind: 'rejected', reason: send };
    work.send = send;
    return undefined;
  }

  async #send(work: Work): Promise<ActionOutcome> {
    const { onError, deadlineMs } = this.#dependencies;
    if (work.send === undefined) throw new Error('a delivery is sent after its config was read');
    try {
      return await withDeadline(work.send(this.#toolsFor(work)), deadlineMs);
    } catch (error) {
      onError(error, work.delivery);
      return { kind: 'retry', reason: 'the attempt could not be completed', destinationDown: false };
    }
  }

  #toolsFor(work: Work): ActionDependencies {
    const { egress, directives, alerts, now } = this.#dependencies;
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

  /** Only a response proves that a destination is up; a request that never left says nothing about it. */
  #learn({ destination }: ClaimedDelivery, outcome: ActionOutcome): void {
    if (destination === null) return;
    const down = outcome.kind === 'retry' && outcome.destinationDown;
    if (!down && outcome.httpStatus === undefined) return;
    this.#dependencies.breakers.learn(destination, down ? 'down' : 'up', this.#dependencies.now());
  }

  #schedule(work: Work, outcome: ActionOutcome, startedAt: number): Execution {
    const at = this.#dependencies.now();
    const detail = safe(outcome.kind === 'delivered' ? (outcome.detail ?? null) : outcome.reason);
    const next = this.#next(work, outcome, at);
    const gaveUp = outcome.kind === 'retry' && next.kind === 'settled';
    const settlement: Settlement = {
      at,
      next,
      detail: gaveUp ? safe(`gave up after the last attempt: ${detail}`) : detail,
      attempt: {
        started_at: new Date(startedAt).toISOString(),
        finished_at: new Date(at).toISOString(),
        outcome: outcome.kind,
        http_status: outcome.httpStatus ?? null,
        detail,
        exchange: work.request === undefined ? null : exchangeOf(work.request, work.response),
      },
      ...disabling(work.delivery, outcome),
    };
    return { kind: 'settle', settlement };
  }

  #next(work: Work, outcome: ActionOutcome, at: number): Next {
    if (outcome.kind === 'delivered') return { kind: 'settled', result: 'success' };
    if (outcome.kind === 'rejected') return { kind: 'settled', result: 'failed', why: 'rejected' };
    const attempt = work.delivery.attempts + 1;
    const pause = pauseAfter(actionOf(work).urgency, attempt, this.#dependencies.random(), outcome.afterMs);
    if (pause === null) return { kind: 'settled', result: 'failed', why: 'out_of_attempts' };
    return { kind: 'retry', atMs: at + pause };
  }

  #giveUp(why: GivenUpDelivery, detail: string): Execution {
    const next: Next = { kind: 'settled', result: 'failed', why };
    return { kind: 'settle', settlement: { at: this.#dependencies.now(), next, detail: safe(detail) } };
  }
}

function actionOf({ action }: Work): PreparedAction {
  if (action === undefined) throw new Error('the action of a delivery is found first');
  return action;
}

function disabling(delivery: ClaimedDelivery, outcome: ActionOutcome): Pick<Settlement, 'disable'> {
  if (outcome.kind !== 'rejected' || outcome.disableDestination !== true) return {};
  const label = addressOf(delivery.actionType, delivery.actionConfig)?.label ?? '';
  return { disable: { label, reason: outcome.reason } };
}

/** One short line without control characters: details are shown to people. */
function safe(text: string | null): string | null {
  return text === null ? null : text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, MAX_DETAIL);
}
