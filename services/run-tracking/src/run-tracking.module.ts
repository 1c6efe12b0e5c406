import type { Database } from '@agentlens/database';
import type { EventBus } from '@agentlens/messaging';
import {
  CLOCK,
  type Clock,
  CONFIG,
  DATABASE,
  EVENT_BUS,
  HEALTH,
  type HealthRegistry,
  LOGGER,
  type Platform,
  PlatformModule,
} from '@agentlens/platform';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { RunTracker } from './run-tracker.ts';

/** Stores agent events and keeps runs, agents and their days. Speaks to the bus only. */
@Module({})
export class RunTrackingModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(RunTracker) private readonly tracker: RunTracker) {}

  static register(platform: Platform): DynamicModule {
    return {
      module: RunTrackingModule,
      imports: [PlatformModule.forService(platform, 'run-tracking')],
      providers: [
        { provide: RunTracker, useFactory: tracker, inject: [EVENT_BUS, DATABASE, CLOCK, LOGGER, HEALTH, CONFIG] },
      ],
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.tracker.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.tracker.stop();
  }
}

function tracker(
  bus: EventBus,
  database: Database,
  clock: Clock,
  logger: Platform['logger'],
  health: HealthRegistry,
  config: Platform['config'],
): RunTracker {
  return new RunTracker({ bus, database, clock, logger, health, retentionDays: config.retentionDays });
}
