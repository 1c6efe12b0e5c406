import { providersOf } from '@agentlens/platform';
import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { RunTrackingCommands, RunTrackingTopics } from './messages.controller.ts';
import { RunTracking, type RunTrackingPorts, wireRunTracking } from './wire.ts';

/** Stores agent events and decisions, keeps runs, agents and daily totals, ends silent runs. Speaks to the bus only. */
@Module({ controllers: [RunTrackingCommands, RunTrackingTopics] })
export class RunTrackingModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(@Inject(RunTracking) private readonly running: RunTracking) {}

  static register(platform: RunTrackingPorts): DynamicModule {
    return { module: RunTrackingModule, providers: providersOf(wireRunTracking(platform)) };
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.running.start();
  }

  /** Message handlers have stopped by now. */
  async onApplicationShutdown(): Promise<void> {
    await this.running.stop();
  }
}
