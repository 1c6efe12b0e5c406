import { breakerChanged, COMMANDS, directiveAcknowledged } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { EgressPolicy } from '@agentlens/egress';
import type { EventBus, Subscription } from '@agentlens/messaging';
import type { SecretBox } from '@agentlens/platform';
import type { Kysely } from 'kysely';
import { AlertService } from './alerts/alert.service.ts';
import { AlertDecisions } from './alerts/alert-decisions.ts';
import { AlertMetrics, type Waiting } from './alerts/alert-metrics.ts';
import { countWaiting } from './alerts/alerts.repository.ts';
import { ApprovalCalls } from './alerts/approval-calls.ts';
import { BREAKER_GROUP, BreakerAlertsConsumer } from './alerts/breaker-alerts.consumer.ts';
import { ExpirySweeper } from './alerts/expiry-sweeper.ts';
import { answered } from './answered.ts';
import { Approvals } from './approvals/approvals.ts';
import { ACKNOWLEDGEMENTS_GROUP, AcknowledgementsConsumer } from './control/acknowledgements.consumer.ts';
import { ControlOrdersService } from './control/control-orders.service.ts';
import type { AgentControl } from './directives/agent-control.ts';
import { queueWebhooks } from './webhooks/webhook.queue.ts';
import { WebhookEndpointsService } from './webhooks/webhook-endpoints.service.ts';
import type { WebhookNotice } from './webhooks/webhook-notice.ts';

interface ReviewDependencies {
  readonly bus: EventBus;
  readonly db: Kysely<Tables>;
  readonly now: () => number;
  readonly directives: AgentControl;
  readonly secrets: SecretBox;
  readonly egressPolicy: EgressPolicy;
  readonly sweepMs: number;
  /** Called after a commit that wrote to the outbox or queued a delivery. */
  readonly onChanged: () => void;
  readonly onError: (error: unknown) => void;
}

/** People's side of the service: what they are asked, what they answer, what they order. */
export class Review {
  readonly alerts: AlertService;
  readonly #parts: ReviewDependencies;
  readonly #decisions: AlertDecisions;
  readonly #approvals: Approvals;
  readonly #control: ControlOrdersService;
  readonly #webhooks: WebhookEndpointsService;
  readonly #sweeper: ExpirySweeper;
  readonly #breakers: BreakerAlertsConsumer;
  readonly #acknowledgements: AcknowledgementsConsumer;
  readonly #served: Subscription[] = [];
  #waiting: Waiting | undefined;

  constructor(parts: ReviewDependencies) {
    this.#parts = parts;
    const { bus, db, now, directives, secrets, egressPolicy, sweepMs, onChanged, onError } = parts;
    const metrics = new AlertMetrics();
    metrics.observe(() => this.#waiting);
    this.alerts = new AlertService(db, now, metrics, onChanged);
    this.#decisions = new AlertDecisions(db, now, metrics, onChanged);
    this.#approvals = new Approvals(db, now, metrics, new ApprovalCalls(secrets), onChanged);
    this.#control = new ControlOrdersService(db, now, directives, onChanged);
    this.#sweeper = new ExpirySweeper({ db, now, metrics, everyMs: sweepMs, onChanged, onError });
    this.#webhooks = new WebhookEndpointsService({ db, secrets, egressPolicy, now, onQueued: onChanged });
    this.#breakers = new BreakerAlertsConsumer(bus, this.alerts, (notice) => this.#tell(notice));
    this.#acknowledgements = new AcknowledgementsConsumer(bus, db);
  }

  /** When it last managed to look for alerts whose time has run out. */
  get lastSweepAt(): number {
    return this.#sweeper.lastSweepAt;
  }

  async start(): Promise<void> {
    const { bus } = this.#parts;
    this.#sweeper.start();
    this.#served.push(
      await bus.serve(COMMANDS.resolveApproval, (question) => answered(this.#approvals.resolve(question))),
      await bus.serve(COMMANDS.spendApprovals, (calls) => answered(this.#approvals.spend(calls))),
      await bus.serve(COMMANDS.raiseAlert, (question) => answered(this.alerts.answer(question))),
      await bus.serve(COMMANDS.decideAlert, (question) => answered(this.#decisions.decide(question))),
      await bus.serve(COMMANDS.orderControl, (question) => answered(this.#control.order(question))),
      await bus.serve(COMMANDS.createWebhook, ({ tenantId, draft, author }) =>
        answered(this.#webhooks.create(tenantId, draft, author)),
      ),
      await bus.serve(COMMANDS.updateWebhook, ({ patch, ...endpoint }) =>
        answered(this.#webhooks.update(endpoint, patch)),
      ),
      await bus.serve(COMMANDS.deleteWebhook, (endpoint) => answered(this.#webhooks.delete(endpoint))),
      await bus.serve(COMMANDS.rotateWebhookSecret, (endpoint) => answered(this.#webhooks.rotateSecret(endpoint))),
      await bus.serve(COMMANDS.testWebhook, (endpoint) => answered(this.#webhooks.test(endpoint))),
    );
    await this.#breakers.start();
    await this.#acknowledgements.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#breakers.stop(), this.#acknowledgements.stop(), this.#sweeper.stop()]);
    await Promise.all(this.#served.map((subscription) => subscription.close()));
  }

  /** Looks how many calls wait for a human. @throws where Postgres does not say */
  async observe(): Promise<void> {
    const { db, now } = this.#parts;
    this.#waiting = await countWaiting(db, now());
  }

  /** Queues what happened elsewhere for the webhook endpoints that listen. */
  async #tell(notice: WebhookNotice): Promise<void> {
    const { db, now, onChanged } = this.#parts;
    const at = new Date(now()).toISOString();
    const queued = await db.transaction().execute((tx) => queueWebhooks(tx, [notice], at));
    if (queued > 0) onChanged();
  }

  /** How long the oldest breaker change or acknowledgement has been waiting, ms. */
  async oldestAgeMs(): Promise<number> {
    const { bus } = this.#parts;
    const [breakers, acknowledgements] = await Promise.all([
      bus.lag(breakerChanged, BREAKER_GROUP),
      bus.lag(directiveAcknowledged, ACKNOWLEDGEMENTS_GROUP),
    ]);
    return Math.max(breakers.oldestAgeMs, acknowledgements.oldestAgeMs);
  }
}
