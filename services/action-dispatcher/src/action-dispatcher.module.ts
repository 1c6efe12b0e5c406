import type { Database } from '@agentlens/database';
import type { EgressClient, EgressPolicy } from '@agentlens/egress';
import type { EventBus } from '@agentlens/messaging';
import {
  CLOCK,
  type Clock,
  CONFIG,
  DATABASE,
  EGRESS_CLIENT,
  EGRESS_POLICY,
  EVENT_BUS,
  HEALTH,
  type HealthRegistry,
  LOGGER,
  type Platform,
  PlatformModule,
  SECRET_BOX,
  type SecretBox,
} from '@agentlens/platform';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Dispatcher } from './dispatcher.ts';

/** Records triggers, carries their actions out, and keeps the standing instructions of agents. Speaks to the bus only. */
@Module({})
export class ActionDispatcherModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(Dispatcher) private readonly dispatcher: Dispatcher) {}

  static register(platform: Platform): DynamicModule {
    return {
      module: ActionDispatcherModule,
      imports: [PlatformModule.forService(platform, 'action-dispatcher')],
      providers: [
        {
          provide: Dispatcher,
          useFactory: dispatcher,
          inject: [EVENT_BUS, DATABASE, CLOCK, SECRET_BOX, EGRESS_CLIENT, EGRESS_POLICY, LOGGER, HEALTH, CONFIG],
        },
      ],
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.dispatcher.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.dispatcher.stop();
  }
}

function dispatcher(
  bus: EventBus,
  database: Database,
  clock: Clock,
  secrets: SecretBox,
  egress: EgressClient,
  egressPolicy: EgressPolicy,
  logger: Platform['logger'],
  health: HealthRegistry,
  { retentionDays, publicUrl }: Platform['config'],
): Dispatcher {
  const random = Math.random;
  return new Dispatcher({
    ...{ bus, database, clock, secrets, egress, egressPolicy, logger, health, random },
    ...{ retentionDays, publicUrl },
  });
}
