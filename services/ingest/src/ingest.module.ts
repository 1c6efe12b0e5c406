import { DecisionGateway, LocalDecisionPath } from '@agentlens/decisions';
import { ingestEvents } from '@agentlens/operations/ingest';
import { callerOf, type Platform, PriceBooks, portProviders, providersOf, routeOf } from '@agentlens/platform';
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
import { LoadMonitor } from './admission/load-control.ts';
import { ProtocolControlController } from './control/control.controller.ts';
import { EvaluateRoute } from './decisions/evaluate.route.ts';
import { DemoController } from './demo/demo.controller.ts';
import { EventIngestor } from './event-ingestor.ts';
import { type AllTaken, allTaken, type SomeTaken, someTaken } from './http/answers.ts';
import { eventsOf, idempotencyKeyOf, isPartial } from './http/events-request.ts';
import { BATCH_ROUTE, UnreadRefusals } from './http/unread-refusals.ts';
import { OtlpRoutes } from './otlp/otlp.routes.ts';
import { EventPublisher } from './publish/event-publisher.ts';
import { ProtocolRulesController } from './rules/rules.controller.ts';
import { ProtocolAgentsController } from './runs/agents.controller.ts';
import { Heartbeats } from './runs/heartbeats.ts';
import { ProtocolRunsController } from './runs/runs.controller.ts';
import { wireIngest } from './wire.ts';

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

/** The gateway that agents report to. Owns no table: accepted events go to the stream. */
@Module({})
export class IngestModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(EventPublisher) private readonly publisher: EventPublisher,
    @Inject(DecisionGateway) private readonly decisions: DecisionGateway,
    @Inject(LocalDecisionPath) private readonly decisionPath: LocalDecisionPath,
    @Inject(Heartbeats) private readonly heartbeats: Heartbeats,
    @Inject(LoadMonitor) private readonly loadMonitor: LoadMonitor,
    @Inject(PriceBooks) private readonly prices: PriceBooks,
  ) {}

  static register(platform: Platform): DynamicModule {
    return {
      module: IngestModule,
      controllers: [
        ProtocolAgentsController,
        ProtocolRunsController,
        ProtocolControlController,
        ProtocolRulesController,
        DemoController,
      ],
      providers: [
        ...portProviders(platform, 'ingest'),
        ...providersOf(wireIngest(platform)),
        UnreadRefusals,
        EventsRoute,
        EvaluateRoute,
        OtlpRoutes,
      ],
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.prices.start();
    await this.decisionPath.start();
    await this.decisions.start();
    this.loadMonitor.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loadMonitor.stop();
    await this.decisions.drain();
    await this.decisionPath.drain();
    await this.publisher.drain();
    await this.heartbeats.drain();
    await this.prices.stop();
  }
}
