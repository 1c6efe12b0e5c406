import type { Database } from '@agentlens/database';
import type { EventBus } from '@agentlens/messaging';
import { ingestEvents } from '@agentlens/operations/ingest';
import {
  CLOCK,
  type Clock,
  CONFIG,
  callerOf,
  DATABASE,
  EVENT_BUS,
  HEALTH,
  type HealthRegistry,
  IDEMPOTENCY_STORE,
  LOGGER,
  type Platform,
  type PlatformConfig,
  PlatformModule,
  PriceBooks,
  QUOTA,
  routeOf,
} from '@agentlens/platform';
import type { IdempotencyStore, Quota } from '@agentlens/state';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from './admission/admission.ts';
import { FairTurns } from './admission/fair-turns.ts';
import { LeasedQuota } from './admission/leased-quota.ts';
import { RejectedBodies } from './admission/rejected-bodies.ts';
import { Restraint } from './admission/restraint.ts';
import { DemoController } from './demo/demo.controller.ts';
import { EventIngestor } from './event-ingestor.ts';
import { type AllTaken, allTaken, type SomeTaken, someTaken } from './http/answers.ts';
import { eventsOf, idempotencyKeyOf, isPartial } from './http/events-request.ts';
import { BATCH_ROUTE, UnreadRefusals } from './http/unread-refusals.ts';
import { IngestMetrics } from './ingest-metrics.ts';
import { EventIntake } from './intake/intake.ts';
import { RunOwners } from './intake/run-owners.ts';
import { OtlpRoutes } from './otlp/otlp.routes.ts';
import { OtlpIngestor } from './otlp/otlp-ingestor.ts';
import { OtlpMetrics } from './otlp/otlp-metrics.ts';
import { SpanMemory } from './otlp/span-memory.ts';
import { DecisionGateway } from './protocol/decision-gateway.ts';
import { DecisionPathParts } from './protocol/decision-path.ts';
import { Heartbeats } from './protocol/heartbeats.ts';
import { PROTOCOL_CONTROLLERS, PROTOCOL_PROVIDERS } from './protocol/protocol.providers.ts';
import { BatchPublisher } from './publish/batch-publisher.ts';
import { EventPublisher } from './publish/event-publisher.ts';
import { MessageCoalescer } from './publish/message-coalescer.ts';

interface EventsRequest {
  readonly Body: unknown;
  readonly Querystring: Readonly<Record<string, unknown>>;
}

/**
 * Route for events of the AgentLens vocabulary: `POST /api/events`. It carries almost all of the platform's traffic,
 * mostly one event at a time. It is a plain Fastify route, because what Nest does around each controller call costs as
 * much as the handler. Keys, hooks and errors work as for every other route.
 */
@Injectable()
class EventsRoute implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(EventIngestor) private readonly ingestor: EventIngestor,
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.route<EventsRequest>({
      ...routeOf(ingestEvents, BATCH_ROUTE),
      handler: (request, reply) => this.take(request, reply),
    });
  }

  private async take(request: FastifyRequest<EventsRequest>, reply: FastifyReply): Promise<AllTaken | SomeTaken> {
    const caller = callerOf(request);
    const partial = isPartial(request.query);
    const key = idempotencyKeyOf(request.headers['idempotency-key']);
    const handover = { events: eventsOf(request.body), key, partial };
    // The handover releases the events once they are being published; the request must release them too.
    request.body = undefined;
    await this.ingestor.admit(caller, handover.events.length, reply);
    const outcomes = await this.ingestor.take(caller, handover);
    void reply.status(partial ? 207 : 201);
    return partial ? someTaken(outcomes) : allTaken(outcomes);
  }
}

/** If a message is older than this, its retries have failed and traffic should go to another instance. */
const STUCK_MS = 15_000;

/** The gateway that agents report to. Owns no table: accepted events go to the stream. */
@Module({})
export class IngestModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(EventPublisher) private readonly publisher: EventPublisher,
    @Inject(DecisionGateway) private readonly decisions: DecisionGateway,
    @Inject(DecisionPathParts) private readonly decisionPath: DecisionPathParts,
    @Inject(Heartbeats) private readonly heartbeats: Heartbeats,
    @Inject(Admission) private readonly admission: Admission,
    @Inject(PriceBooks) private readonly prices: PriceBooks,
    @Inject(HEALTH) health: HealthRegistry,
  ) {
    health.add('publishing', async () => ({
      ok: publisher.oldestMs < STUCK_MS,
      detail: { oldestMs: publisher.oldestMs },
    }));
    health.add('prices', async () => ({ ok: prices.ready }));
  }

  static register(platform: Platform): DynamicModule {
    return {
      module: IngestModule,
      imports: [PlatformModule.forService(platform, 'ingest')],
      controllers: [...PROTOCOL_CONTROLLERS, DemoController],
      providers: [
        IngestMetrics,
        UnreadRefusals,
        {
          provide: RejectedBodies,
          useFactory: (clock: Clock) => new RejectedBodies(() => clock.now()),
          inject: [CLOCK],
        },
        EventsRoute,
        OtlpMetrics,
        OtlpRoutes,
        {
          provide: OtlpIngestor,
          useFactory: otlpIngestor,
          inject: [EventIngestor, IDEMPOTENCY_STORE, CONFIG, CLOCK, OtlpMetrics, PriceBooks],
        },
        {
          provide: PriceBooks,
          useFactory: (bus: EventBus, clock: Clock, logger: Platform['logger'], database: Database) =>
            new PriceBooks({ bus, clock, logger, database }),
          inject: [EVENT_BUS, CLOCK, LOGGER, DATABASE],
        },
        {
          provide: EventIntake,
          useFactory: eventIntake,
          inject: [IDEMPOTENCY_STORE, CONFIG, LOGGER, RunOwners, PriceBooks],
        },
        { provide: RunOwners, useFactory: runOwners, inject: [IDEMPOTENCY_STORE, CLOCK, LOGGER] },
        { provide: EventPublisher, useFactory: eventPublisher, inject: [EVENT_BUS, IngestMetrics, CLOCK] },
        {
          provide: EventIngestor,
          useFactory: eventIngestor,
          inject: [EventIntake, EventPublisher, IngestMetrics, QUOTA, CLOCK, Admission, LOGGER],
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

  async onApplicationBootstrap(): Promise<void> {
    await this.prices.start();
    this.admission.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.admission.stop();
    await this.decisions.drain();
    await this.decisionPath.drain();
    await this.publisher.drain();
    await this.heartbeats.drain();
    await this.prices.stop();
  }
}

function eventIntake(
  memory: IdempotencyStore,
  { retentionDays }: PlatformConfig,
  logger: Platform['logger'],
  owners: RunOwners,
  prices: PriceBooks,
): EventIntake {
  const onMemoryLost = (error: unknown) =>
    logger.warn({ err: error }, 'state store unavailable; event ids are not compared with earlier ones');
  return new EventIntake(memory, prices, retentionDays, onMemoryLost, owners);
}

function runOwners(memory: IdempotencyStore, clock: Clock, logger: Platform['logger']): RunOwners {
  return new RunOwners(
    memory,
    () => clock.now(),
    (error) => logger.warn({ err: error }, 'state store unavailable; runs are not assigned to agents'),
  );
}

function otlpIngestor(
  ingestor: EventIngestor,
  store: IdempotencyStore,
  { otlp }: PlatformConfig,
  clock: Clock,
  metrics: OtlpMetrics,
  prices: PriceBooks,
): OtlpIngestor {
  return new OtlpIngestor(ingestor, new SpanMemory(store, metrics, () => clock.now()), prices, otlp, metrics);
}

function eventPublisher(bus: EventBus, metrics: IngestMetrics, clock: Clock): EventPublisher {
  const now = () => clock.now();
  const publisher = new BatchPublisher(bus, metrics, now);
  return new EventPublisher(publisher, new MessageCoalescer(publisher, now), now);
}

function eventIngestor(
  intake: EventIntake,
  publisher: EventPublisher,
  metrics: IngestMetrics,
  quota: Quota,
  clock: Clock,
  admission: Admission,
  logger: Platform['logger'],
): EventIngestor {
  const restraint = new Restraint((tenantId, perSecond) => {
    const restrained = 'CPU is scarce, throttling a tenant that floods';
    logger.info({ tenantId, perSecond }, Number.isFinite(perSecond) ? restrained : 'no tenant is throttled');
  });
  return new EventIngestor({
    quota: new LeasedQuota(quota),
    turns: new FairTurns({ restraint }),
    admission,
    intake,
    publisher,
    metrics,
    clock,
  });
}
