import {
  type BreakerChanged,
  type BreakerReason,
  type BreakerState,
  breakerChanged,
  derivedId,
} from '@agentlens/contracts';
import { isDataError, refusalText } from '@agentlens/database';
import { ACK, type EventBus, each, type HandlingOutcome, type Received, type Subscription } from '@agentlens/messaging';
import { noticeOfBreaker, type WebhookNotice } from '../webhooks/webhook-notice.ts';
import type { AlertService } from './alert.service.ts';

export const BREAKER_GROUP = 'action-dispatcher-breakers';
const MAX_BATCH = 64;
const CONCURRENCY = 4;

/** Never how high the limit is: agents may come to read this. */
const REASONS: Readonly<Record<BreakerReason, string>> = {
  tokens: 'it used more tokens than it may',
  iterations: 'it took more steps than it may',
  cost: 'it cost more than it may',
  failures: 'it failed too often in a row',
  confidence: 'its reported confidence fell too far',
  operator: 'an operator opened it',
};

/** Tells people and webhook endpoints of breakers that opened, and takes that back when they close. */
export class BreakerAlertsConsumer {
  #subscription: Subscription | undefined;

  constructor(
    private readonly bus: EventBus,
    private readonly alerts: AlertService,
    private readonly tell: (notice: WebhookNotice) => Promise<void>,
  ) {}

  async start(): Promise<void> {
    const handler = each((message: Received<BreakerChanged>) => this.#take(message.value), CONCURRENCY);
    const group = { group: BREAKER_GROUP, maxBatch: MAX_BATCH };
    this.#subscription = await this.bus.consume(breakerChanged, group, handler);
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
  }

  async #take(change: BreakerChanged): Promise<HandlingOutcome> {
    try {
      // A probe proves nothing yet.
      if (change.state.kind === 'half_open') return ACK;
      await this.#alert(change, change.state);
      await this.tell(noticeOfBreaker(change));
      return ACK;
    } catch (error) {
      if (isDataError(error)) return { kind: 'poison', reason: `the alert cannot be stored: ${refusalText(error)}` };
      throw error;
    }
  }

  async #alert(
    { tenantId, scope, scopeId, agentId, version, at }: BreakerChanged,
    state: Exclude<BreakerState, { kind: 'half_open' }>,
  ): Promise<void> {
    const about = { tenantId, kind: 'breaker', agentId, runId: scope === 'run' ? scopeId : undefined } as const;
    if (state.kind === 'closed') return this.alerts.close(about, 'the circuit breaker closed');
    const id = derivedId(Date.parse(at), tenantId, 'breaker', scope, scopeId, version);
    const title = `Circuit breaker of ${scope} ${scopeId} is open`;
    const message = `Calls are blocked because ${REASONS[state.reason]}.`;
    await this.alerts.put({ ...about, severity: 'error', title, message }, id);
  }
}
