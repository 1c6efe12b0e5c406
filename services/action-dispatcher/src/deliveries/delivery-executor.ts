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
import { type SecretBox, withDeadline } from '@agentlens/platform';
import type { DestinationBreakers } from '../destinations/destination-breakers.ts';
import type { ClaimedDelivery } from './claimed-delivery.ts';
import { inDeliverySpan, traceHeaders } from './delivery-trace.ts';
import { exchangeOf } from './exchange.ts';
import { addressOf, errandOf, type PreparedAction } from './prepared-action.ts';
import { isStale, pauseAfter } from './retry-schedule.ts';
import { openSecrets } from './sealed-config.ts';
import type { GivenUpDelivery, Next, Settlement } from './settlements.repository.ts';

/** What to do with a delivery after it was looked at. */
export type Execution =
  | { readonly kind: 'settle'; readonly settlement: Settlement }
  /** Its destination is resting: no attempt was made and none is used up. */
  | { readonly kind: 'defer'; readonly untilMs: number; readonly reason: string };

interface ExecutorDependencies {
  readonly egress: EgressClient;
  readonly directives: Directives;
  readonly alerts: Alerts;
  readonly secrets: SecretBox;
  readonly breakers: DestinationBreakers;
  readonly now: () => number;
  /** Uniform in [0, 1); spreads retries. */
  readonly random: () => number;
  readonly onError: (error: unknown, delivery: ClaimedDelivery) => void;
  /** An attempt that has not ended by then is taken for failed. Must end well before the lease does. */
  readonly deadlineMs: number;
  /** Where people reach the platform: links lead there. */
  readonly publicUrl?: string | undefined;
}

/** The last request of an attempt and its answer. */
interface Sent {
  request?: ActionRequest;
  response?: ActionResponse;
}

const MAX_DETAIL = 300;

/** Carries out one delivery once. Everything that can be wrong with it comes back as a value. */
export class DeliveryExecutor {
  constructor(private readonly tools: ExecutorDependencies) {}

  async execute(delivery: ClaimedDelivery): Promise<Execution> {
    const { breakers, now, publicUrl } = this.tools;
    const errand = errandOf(delivery, publicUrl);
    if (typeof errand === 'string') return this.#give('impossible', errand);

    const { destination, disabled } = delivery;
    if (disabled !== null) {
      return this.#give('disabled', `the destination is disabled (${disabled}); redeliver to enable it again`);
    }
    if (destination !== null) {
      const admission = breakers.admit(destination, now());
      if (!admission.admitted) return this.#wait(delivery, errand, admission.retryAtMs);
    }
    return this.#attempt(delivery, errand);
  }

  /** An open breaker rests its destination; what would come too late to be right is given up instead. */
  #wait(delivery: ClaimedDelivery, errand: PreparedAction, untilMs: number): Execution {
    const reason = 'the destination does not answer, waiting until it does';
    if (!isStale(errand.urgency, Date.parse(delivery.createdAt), this.tools.now())) {
      return { kind: 'defer', untilMs, reason };
    }
    return this.#give('waited_too_long', 'the destination did not answer for too long');
  }

  async #attempt(delivery: ClaimedDelivery, errand: PreparedAction): Promise<Execution> {
    const { now } = this.tools;
    const startedAt = now();
    const sent: Sent = {};
    const outcome = await inDeliverySpan(delivery, () => this.#outcome(delivery, errand, sent));
    this.#learn(delivery, outcome);
    const at = now();
    const detail = safe(outcome.kind === 'delivered' ? (outcome.detail ?? null) : outcome.reason);
    const next = this.#next(delivery, errand, outcome, at);
    return {
      kind: 'settle',
      settlement: {
        at,
        next,
        detail:
          outcome.kind === 'retry' && next.kind === 'settled'
            ? safe(`gave up after the last attempt: ${detail}`)
            : detail,
        attempt: {
          started_at: new Date(startedAt).toISOString(),
          finished_at: new Date(at).toISOString(),
          outcome: outcome.kind,
          http_status: outcome.httpStatus ?? null,
          detail,
          exchange: sent.request === undefined ? null : exchangeOf(sent.request, sent.response),
        },
        ...disabling(delivery, outcome),
      },
    };
  }

  async #outcome(delivery: ClaimedDelivery, errand: PreparedAction, sent: Sent): Promise<ActionOutcome> {
    const { secrets, onError, deadlineMs } = this.tools;
    let opened: JsonObject;
    try {
      opened = openSecrets(secrets, delivery);
    } catch (error) {
      onError(error, delivery);
      return {
        kind: 'retry',
        reason: 'a secret of the rule cannot be opened with the key in use',
        destinationDown: false,
      };
    }
    const prepared = errand.prepare(opened);
    if (typeof prepared === 'string') return { kind: 'rejected', reason: prepared };
    try {
      return await withDeadline(prepared(this.#toolsFor(delivery, sent)), deadlineMs);
    } catch (error) {
      onError(error, delivery);
      return { kind: 'retry', reason: 'the attempt could not be completed', destinationDown: false };
    }
  }

  /** @param sent takes what is sent and what is answered, as it happens: an attempt that is given up has sent something too */
  #toolsFor(delivery: ClaimedDelivery, sent: Sent): ActionDependencies {
    const { egress, directives, alerts, now } = this.tools;
    return {
      deliveryId: delivery.deliveryId,
      now,
      directives,
      alerts,
      send: async (asked) => {
        const request = { ...asked, headers: { ...asked.headers, ...traceHeaders(delivery) } };
        sent.request = request;
        const response = await egress.send(request);
        sent.response = response;
        return response;
      },
    };
  }

  #next(delivery: ClaimedDelivery, errand: PreparedAction, outcome: ActionOutcome, at: number): Next {
    if (outcome.kind === 'delivered') return { kind: 'settled', result: 'success' };
    if (outcome.kind === 'rejected') return { kind: 'settled', result: 'failed', why: 'rejected' };
    const pause = pauseAfter(errand.urgency, delivery.attempts + 1, this.tools.random(), outcome.afterMs);
    return pause === null
      ? { kind: 'settled', result: 'failed', why: 'out_of_attempts' }
      : { kind: 'retry', atMs: at + pause };
  }

  /** Only an answer proves that a destination lives; a call that never left says nothing about it. */
  #learn({ destination }: ClaimedDelivery, outcome: ActionOutcome): void {
    if (destination === null) return;
    const down = outcome.kind === 'retry' && outcome.destinationDown;
    if (!down && outcome.httpStatus === undefined) return;
    this.tools.breakers.learn(destination, down ? 'down' : 'up', this.tools.now());
  }

  #give(why: GivenUpDelivery, detail: string): Execution {
    const settlement: Settlement = {
      at: this.tools.now(),
      next: { kind: 'settled', result: 'failed', why },
      detail: safe(detail),
    };
    return { kind: 'settle', settlement };
  }
}

function disabling(delivery: ClaimedDelivery, outcome: ActionOutcome): Pick<Settlement, 'disable'> {
  if (outcome.kind !== 'rejected' || outcome.disableDestination !== true) return {};
  const label = addressOf(delivery.actionType, delivery.actionConfig)?.label ?? '';
  return { disable: { label, reason: outcome.reason } };
}

/** Short, one line, no control characters: details are shown to people and kept for ever. */
function safe(text: string | null): string | null {
  return text === null ? null : text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, MAX_DETAIL);
}
