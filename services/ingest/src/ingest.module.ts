import type { EventBus } from '@agentlens/messaging';
import {
  CLOCK,
  type Clock,
  CONFIG,
  EVENT_BUS,
  HEALTH,
  type HealthRegistry,
  IDEMPOTENCY_STORE,
  LOGGER,
  type Platform,
  type PlatformConfig,
  PlatformModule,
  QUOTA,
} from '@agentlens/platform';
import type { IdempotencyStore, Quota } from '@agentlens/state';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Admission } from './admission/admission.ts';
import { FairTurns } from './admission/fair-turns.ts';
import { Restraint } from './admission/restraint.ts';
import { BatchPublisher } from './batch-publisher.ts';
import { Coalescer } from './coalescer.ts';
import { EventIngestor } from './event-ingestor.ts';
import { EventGate } from './event-gate.ts';
import { EventsRoute } from './events.route.ts';
import { IngestMetrics } from './ingest-metrics.ts';
import { EventIntake } from './intake.ts';
import { LeasedQuota } from './leased-quota.ts';
import { OtlpRoutes } from './otlp/otlp.routes.ts';
import { OtlpIngestor } from './otlp/otlp-ingestor.ts';
import { OtlpMetrics } from './otlp/otlp-metrics.ts';
import { SpanMemory } from './otlp/span-memory.ts';
import { PriceTable } from './price-table.ts';
import { DecisionGateway } from './protocol/decision-gateway.ts';
import { Heartbeats } from './protocol/heartbeats.ts';
import { PROTOCOL_CONTROLLERS, PROTOCOL_PROVIDERS } from './protocol/protocol.providers.ts';
import { UnreadRefusals } from './unread-refusals.ts';

/** A message this old has outlived its retries: traffic is better sent to another instance. */
const STUCK_MS = 15_000;

/** The gateway agents report to. Owns no table: what it takes goes to the stream. */
@Module({})
export class IngestModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(EventGate) private readonly gate: EventGate,
    @Inject(DecisionGateway) private readonly decisions: DecisionGateway,
    @Inject(Heartbeats) private readonly heartbeats: Heartbeats,
    @Inject(Admission) private readonly admission: Admission,
    @Inject(HEALTH) health: HealthRegistry,
  ) {
    health.add('publishing', async () => ({ ok: gate.oldestMs < STUCK_MS, detail: { oldestMs: gate.oldestMs } }));
  }

  static register(platform: Platform): DynamicModule {
    return {
      module: IngestModule,
      imports: [PlatformModule.forService(platform, 'ingest')],
      controllers: PROTOCOL_CONTROLLERS,
      providers: [
        IngestMetrics,
        UnreadRefusals,
        EventsRoute,
        OtlpMetrics,
        OtlpRoutes,
        {
          provide: OtlpIngestor,
          useFactory: otlpIngestor,
          inject: [EventIngestor, IDEMPOTENCY_STORE, CONFIG, CLOCK, OtlpMetrics],
        },
        { provide: EventIntake, useFactory: eventIntake, inject: [IDEMPOTENCY_STORE, CONFIG, LOGGER] },
        { provide: EventGate, useFactory: eventGate, inject: [EVENT_BUS, IngestMetrics, CLOCK] },
        {
          provide: EventIngestor,
          useFactory: eventDesk,
          inject: [EventIntake, EventGate, IngestMetrics, QUOTA, CLOCK, Admission, LOGGER],
        },
        {
          provide: Admission,
          useFactory: (bus: EventBus, clock: Clock, logger: Platform['logger']) => new Admission(bus, clock, logger),
          inject: [EVENT_BUS, CLOCK, LOGGER],
        },
        ...PROTOCOL_PROVIDERS,
      ],
    };
  }

  onApplicationBootstrap(): void {
    this.admission.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.admission.stop();
    await this.decisions.drain();
    await this.gate.drain();
    await this.heartbeats.drain();
  }
}

function eventIntake(
  memory: IdempotencyStore,
  { retentionDays }: PlatformConfig,
  logger: Platform['logger'],
): EventIntake {
  return new EventIntake(memory, new PriceTable(), retentionDays, (error) =>
    logger.warn({ err: error }, 'event ids were not compared with earlier ones: the state store is away'),
  );
}

function otlpIngestor(
  ingestor: EventIngestor,
  store: IdempotencyStore,
  { otlp }: PlatformConfig,
  clock: Clock,
  metrics: OtlpMetrics,
): OtlpIngestor {
  return new OtlpIngestor(ingestor, new SpanMemory(store, metrics, () => clock.now()), new PriceTable(), otlp, metrics);
}

function eventGate(bus: EventBus, metrics: IngestMetrics, clock: Clock): EventGate {
  const now = () => clock.now();
  const publisher = new BatchPublisher(bus, metrics, now);
  return new EventGate(publisher, new Coalescer(publisher, now), now);
}

function eventDesk(
  intake: EventIntake,
  gate: EventGate,
  metrics: IngestMetrics,
  quota: Quota,
  clock: Clock,
  admission: Admission,
  logger: Platform['logger'],
): EventIngestor {
  const restraint = new Restraint((tenantId, perSecond) => {
    const restrained = 'the CPU is scarce: a tenant that floods beside others is restrained';
    logger.info({ tenantId, perSecond }, Number.isFinite(perSecond) ? restrained : 'nobody is restrained any more');
  });
  return new EventIngestor(
    intake,
    gate,
    metrics,
    new LeasedQuota(quota),
    clock,
    admission,
    new FairTurns({ restraint }),
  );
}
