import {
  DecisionGateway,
  GatewayMetrics,
  KnownRuns,
  LocalDecisionPath,
  OwnRuns,
  RunOwners,
  TreeLimiter,
} from '@agentlens/decisions';
import { ControlBoard, ControlTables, type Platform, PriceBooks, StreamTickets } from '@agentlens/platform';
import { FairShare } from './admission/fair-share.ts';
import { FairTurns } from './admission/fair-turns.ts';
import { LoadMonitor } from './admission/load-control.ts';
import { DecideQuota, LeasedQuota, RejectedBodies } from './admission/quotas.ts';
import { Restraint } from './admission/restraint.ts';
import { ConnectionSecrets } from './control/connection-secrets.ts';
import { ControlChannel } from './control/control-channel.ts';
import { Listeners } from './control/listeners.ts';
import { EventIngestor } from './event-ingestor.ts';
import { IngestMetrics } from './ingest-metrics.ts';
import { EventIntake } from './intake/intake.ts';
import { RunParents } from './intake/run-parents.ts';
import { OtlpIngestor } from './otlp/otlp-ingestor.ts';
import { OtlpMetrics } from './otlp/otlp-metrics.ts';
import { SpanMemory } from './otlp/span-memory.ts';
import { BatchPublisher } from './publish/batch-publisher.ts';
import { EventPublisher } from './publish/event-publisher.ts';
import { MessageCoalescer } from './publish/message-coalescer.ts';
import { Heartbeats } from './runs/heartbeats.ts';

/** If a message is older than this, its retries have failed and traffic should go to another instance. */
const STUCK_MS = 15_000;

/** Builds the gateway: every class once, with its collaborators. Starts nothing. */
export function wireIngest(platform: Platform) {
  const { bus, clock, config, health, idempotency, keys, secrets } = platform;
  const database = platform.database('ingest');
  const logger = platform.logger.child({ service: 'ingest' });
  const now = () => clock.now();
  const board = new ControlBoard({ bus, clock, logger, reader: new ControlTables(database) });
  const prices = new PriceBooks({ bus, clock, logger, database });

  const ingestMetrics = new IngestMetrics();
  const batches = new BatchPublisher(bus, ingestMetrics, now);
  const publisher = new EventPublisher(batches, new MessageCoalescer(batches, now), now);
  const shares = new FairShare();
  const loadMonitor = new LoadMonitor(shares, bus, clock, logger);
  const owners = new RunOwners(idempotency, now, (error) =>
    logger.warn({ err: error }, 'state store unavailable; runs are not assigned to agents'),
  );
  const onMemoryLost = (error: unknown) =>
    logger.warn({ err: error }, 'state store unavailable; event ids are not compared with earlier ones');
  const parents = new RunParents({ memory: idempotency, owners, now, onMemoryLost });
  const intake = new EventIntake(idempotency, prices, config.retentionDays, onMemoryLost, owners, parents);
  const restraint = new Restraint((tenantId, perSecond) => {
    const restrained = 'CPU is scarce, throttling a tenant that floods';
    logger.info({ tenantId, perSecond }, Number.isFinite(perSecond) ? restrained : 'no tenant is throttled');
  });
  const ingestor = new EventIngestor({
    ...{ clock, intake, publisher, shares, metrics: ingestMetrics },
    quota: new LeasedQuota(platform.quota),
    turns: new FairTurns({ restraint }),
  });
  const rejected = new RejectedBodies(now);

  const otlpMetrics = new OtlpMetrics();
  const spans = new SpanMemory(idempotency, otlpMetrics, now);
  const otlp = new OtlpIngestor(ingestor, spans, prices, config.otlp, otlpMetrics);

  const metrics = new GatewayMetrics('ingest');
  const listeners = new Listeners(platform.presence, logger);
  const runs = new KnownRuns(platform.runContexts, now, logger);
  const trees = new TreeLimiter(platform.runTrees, now, logger);
  const ownRuns = new OwnRuns(runs, owners);
  const heartbeats = new Heartbeats(bus, metrics, logger);
  const quota = new DecideQuota(now);
  const path = new LocalDecisionPath({ config, bus, board, metrics, clock, health, logger });
  const decisions = new DecisionGateway({ bus, board, recorder: ingestor, metrics, clock, logger, path });
  const connections = new ConnectionSecrets(secrets);
  const parts = { bus, board, listeners, runs, keys, secrets: connections, clock, health, metrics, logger };
  const channel = new ControlChannel(parts);
  const tickets = new StreamTickets({ secrets, clock });

  health.add('control', async () => ({ ok: board.loaded }));
  health.add('publishing', async () => ({
    ok: publisher.oldestMs < STUCK_MS,
    detail: { oldestMs: publisher.oldestMs },
  }));
  health.add('prices', async () => ({ ok: prices.ready }));
  return {
    ...{ board, ingestMetrics, ingestor, loadMonitor, otlp, otlpMetrics, prices, publisher, rejected },
    ...{
      channel,
      connections,
      decisions,
      heartbeats,
      listeners,
      metrics,
      ownRuns,
      parents,
      path,
      quota,
      runs,
      tickets,
      trees,
    },
  };
}
