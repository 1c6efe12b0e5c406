import { createMailConnector } from '@agentlens/egress';
import type { Platform } from '@agentlens/platform';
import { AlertService } from './alerts/alert.service.ts';
import { AlertMetrics } from './alerts/alert-metrics.ts';
import { ApprovalCalls, readCall } from './alerts/approval-calls.ts';
import { BreakerAlerts } from './alerts/breaker-alerts.ts';
import { ExpirySweeper } from './alerts/expiry-sweeper.ts';
import { AlertDecisions } from './approvals/alert-decisions.ts';
import { ApprovalPolicies } from './approvals/approval-policies.ts';
import { Approvals } from './approvals/approvals.ts';
import { QuorumAlerts } from './approvals/quorum-alerts.ts';
import { VoteReads } from './approvals/votes.ts';
import { ChannelKinds } from './channels/channel-kinds.ts';
import { ChannelSender } from './channels/channel-sender.ts';
import { Channels } from './channels/channels.service.ts';
import { Acknowledgements, ControlOrdersService } from './control/control-orders.service.ts';
import { carryOut } from './deliveries/carry-out.ts';
import type { ClaimedDelivery, Lane } from './deliveries/claimed-delivery.ts';
import { createDeliver } from './deliveries/deliver.ts';
import { DeliveriesRepository } from './deliveries/deliveries.repository.ts';
import { DeliveryWorker } from './deliveries/delivery-worker.ts';
import { Lanes, LIMITS } from './deliveries/lanes.ts';
import { Redelivery } from './deliveries/redelivery.ts';
import { ResultRecorder } from './deliveries/result-recorder.ts';
import { SettlementsRepository } from './deliveries/settlements.repository.ts';
import { DeliveryMetrics } from './delivery-metrics.ts';
import { DestinationBreakers } from './destinations/destinations.ts';
import { AgentControl } from './directives/agent-control.ts';
import { AgentDirectivesRepository } from './directives/agent-directives.repository.ts';
import { PauseRearmService } from './directives/pause-rearm.service.ts';
import { Dispatcher } from './dispatcher.ts';
import { Fallbacks } from './notices/fallbacks.ts';
import { NoticeFlusher } from './notices/flusher.ts';
import { Notifier } from './notices/notifier.ts';
import { RoutingDocuments, Silences } from './notices/routing-documents.ts';
import { Outbox } from './outbox/outbox.ts';
import { RunActions } from './removal/run-actions.repository.ts';
import { OldRows } from './retention/old-rows.repository.ts';
import { Retention } from './retention/retention.ts';
import { SlackClicks } from './slack/slack-clicks.ts';
import { endsWithoutDelivery, TriggerIntake, TriggerPartitions, TriggerRecorder } from './triggers/trigger-recorder.ts';
import { RecordWatch } from './webhooks/record-watch.ts';
import { queueWebhooks } from './webhooks/webhook.queue.ts';
import { WebhookEndpointsService } from './webhooks/webhook-endpoints.service.ts';
import { WitnessAsker } from './witnesses/witness-asker.ts';

export type DispatcherPorts = Pick<
  Platform,
  'bus' | 'clock' | 'config' | 'database' | 'egress' | 'egressPolicy' | 'health' | 'logger' | 'secrets'
>;

export interface DispatcherOptions {
  readonly timings?: Partial<Timings> | undefined;
  /** Uniform in [0, 1); spreads retries. */
  readonly random?: (() => number) | undefined;
}

export interface Timings {
  /** Interval between looks for due deliveries and expired alerts. */
  readonly pollMs: number;
  readonly leaseMs: number;
  /** Timeout of one attempt. */
  readonly deadlineMs: number;
  /** Interval between updates of the gauges. */
  readonly observeMs: number;
}

/** Waiting, the attempt and recording its result end well before the lease, so a healthy worker never loses one. */
const TIMINGS: Timings = { pollMs: 1_000, leaseMs: 30_000, deadlineMs: 20_000, observeMs: 5_000 };
/** How long a claimed delivery may wait for a slot. */
const PATIENCE_MS = 4_000;
/** Claims that failed for longer are logged as warnings. */
const CLAIM_PATIENCE_MS = 10_000;

/** Builds the service: every class once, with its collaborators. Starts nothing. */
export function wireDispatcher(platform: DispatcherPorts, options: DispatcherOptions = {}) {
  const { bus, clock, config, egress, egressPolicy, health, secrets } = platform;
  const logger = platform.logger.child({ service: 'action-dispatcher' });
  const database = platform.database('action-dispatcher');
  const { db } = database;
  const now = () => clock.now();
  const { random = Math.random } = options;
  const { pollMs, leaseMs, deadlineMs, observeMs } = { ...TIMINGS, ...options.timings };

  const outbox = new Outbox({ db, bus, health, logger });
  const onQueued = () => lanes.wake();
  const onIssued = () => outbox.publishNow();
  const onChanged = () => {
    outbox.publishNow();
    lanes.wake();
  };

  // Alerts, approvals and orders
  const alertMetrics = new AlertMetrics();
  const alerts = new AlertService(db, now, alertMetrics, onChanged);
  const decisions = new AlertDecisions(db, now, alertMetrics, onChanged);
  const quorums = new QuorumAlerts(alerts, now, (err) =>
    logger.warn({ err }, 'raising the alert about a quorum failed, the next approval tries again'),
  );
  const approvals = new Approvals(db, now, alertMetrics, new ApprovalCalls(secrets), quorums, onChanged);
  const votes = new VoteReads(db, now);
  const policies = new ApprovalPolicies(db, now);
  const agents = new AgentControl(new AgentDirectivesRepository(db), new PauseRearmService(db, bus), now, onIssued);
  const orders = new ControlOrdersService(db, now, agents, onChanged);
  const acknowledgements = new Acknowledgements(db);
  const sweeper = new ExpirySweeper({
    ...{ db, now, metrics: alertMetrics, everyMs: pollMs, onChanged },
    progress: health.watchLoop('alert-expiry'),
    onError: (err) => logger.warn({ err }, 'alert expiry failed, will retry'),
  });

  // Webhook endpoints
  const webhooks = new WebhookEndpointsService({ db, secrets, egressPolicy, now, onQueued: onChanged });
  const records = new RecordWatch({
    ...{ db, now, onQueued, logger },
    progress: health.watchLoop('webhook-notices'),
    onError: (err) => logger.warn({ err }, 'queueing webhooks for changes and budgets failed, will retry'),
  });
  const breakerAlerts = new BreakerAlerts(alerts, async (notice) => {
    const at = new Date(now()).toISOString();
    if ((await db.transaction().execute((tx) => queueWebhooks(tx, [notice], at))) > 0) onChanged();
  });

  // Channels and routes
  const kinds = new ChannelKinds(createMailConnector(egressPolicy));
  const channels = new Channels({ db, secrets, egressPolicy, kinds, now, onQueued: onChanged });
  const sender = new ChannelSender({
    ...{ db, secrets, kinds, publicUrl: config.publicUrl },
    readCall: (approval) => readCall(db, secrets, approval),
  });
  const clicks = new SlackClicks({
    ...{ db, secrets, kinds, decisions, egress, now, publicUrl: config.publicUrl },
    onError: (err) => logger.warn({ err }, 'answering a click in Slack failed'),
  });
  const routes = new RoutingDocuments(db, now, onChanged);
  const silences = new Silences(db, now);
  const onUnreadable = onceEach((tenantId, problems) =>
    logger.error({ tenantId, problems }, 'the routes of a tenant cannot be read in full, defaults apply'),
  );
  const onNoticesFailed = (err: unknown) => logger.warn({ err }, 'sending notices failed, will retry');
  const notifier = new Notifier({
    ...{ db, now, everyMs: pollMs, onQueued, onError: onNoticesFailed },
    flusher: new NoticeFlusher({ db, now, kinds, onUnreadable }),
    fallbacks: new Fallbacks({ db, now, kinds, onError: onNoticesFailed }),
    progress: health.watchLoop('notices'),
  });

  // Deliveries
  const deliveries = new DeliveriesRepository(db);
  const deliveryMetrics = new DeliveryMetrics();
  const breakers = new DestinationBreakers();
  const onError = (err: unknown, delivery?: ClaimedDelivery) => {
    if (delivery !== undefined) {
      logger.warn({ err, ...identityOf(delivery) }, 'delivery failed unexpectedly, will retry');
      return;
    }
    // While a database starts or is busy, a claim may time out. It is a warning only if that lasts.
    const level = now() - lanes.lastClaimAt < CLAIM_PATIENCE_MS ? 'debug' : 'warn';
    logger[level]({ err }, 'claiming deliveries failed, will retry');
  };
  const results = new ResultRecorder({
    ...{ deliveries, settlements: new SettlementsRepository(db), now, leaseMs },
    onSettled: (ended) => {
      deliveryMetrics.settled(ended);
      outbox.publishSoon();
    },
  });
  const attempting = { egress, secrets, alerts, directives: agents, now, onError, deadlineMs };
  const deliver = createDeliver({
    carryOut: (delivery) =>
      carryOut({ ...attempting, breakers, channels: sender, publicUrl: config.publicUrl }, delivery),
    ...{ results, metrics: deliveryMetrics, now, random },
  });
  const workerOf = (lane: Lane) =>
    new DeliveryWorker({
      ...{ lane, limits: LIMITS[lane], deliveries, deliver },
      ...{ now, leaseMs, patienceMs: PATIENCE_MS, pollMs, onError },
    });
  const lanes = new Lanes({ internal: workerOf('internal'), outbound: workerOf('outbound') });
  const redelivery = new Redelivery(db, now, (destination) => {
    if (destination !== null) breakers.reset(destination);
    lanes.wake();
  });

  // Triggers
  const partitions = new TriggerPartitions(db, now, (err) =>
    logger.warn({ err }, 'creating the trigger partition of this month failed, using the default partition'),
  );
  const triggers = new TriggerIntake(new TriggerRecorder(db, partitions, now, lanes), (recorded, batch) => {
    deliveryMetrics.recorded(recorded, batch);
    if (recorded.includes('queued')) lanes.wake();
    if (recorded.some(endsWithoutDelivery)) outbox.publishSoon();
  });

  const retention = new Retention({ rows: new OldRows(db), now, days: config.retentionDays, logger });
  const witnesses = new WitnessAsker({
    ...{ database, egress, clock, logger, witnesses: config.logWitnesses },
    progress: health.watchLoop('log-witnesses'),
  });
  const dispatcher = new Dispatcher({
    ...{ bus, clock, health, logger, db, outbox, lanes, records, retention, sweeper, notifier, witnesses },
    ...{ deliveries, breakers, deliveryMetrics, alertMetrics, observeMs },
  });
  const runActions = new RunActions(db, now);
  return {
    ...{ dispatcher, triggers, breakerAlerts, acknowledgements },
    ...{ channels, routes, silences, clicks },
    ...{ approvals, votes, policies, alerts, decisions, orders, agents, webhooks, redelivery, runActions },
  };
}

const MAX_REPORTED = 1_000;

/** Reports problems of a tenant when they change, and not at every flush. */
function onceEach(report: (tenantId: string, problems: readonly object[]) => void): typeof report {
  const reported = new Map<string, string>();
  return (tenantId, problems) => {
    const text = JSON.stringify(problems);
    if (reported.get(tenantId) === text) return;
    const [oldest] = reported.keys();
    if (reported.size >= MAX_REPORTED && oldest !== undefined) reported.delete(oldest);
    reported.set(tenantId, text);
    report(tenantId, problems);
  };
}

/** Never the config: it holds secrets. */
function identityOf({ tenantId, deliveryId, actionType, attempts }: ClaimedDelivery): object {
  return { tenantId, deliveryId, actionType, attempts };
}
