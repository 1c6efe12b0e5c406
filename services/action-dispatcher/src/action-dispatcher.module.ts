import { providersOf } from '@agentlens/platform';
import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { DispatcherCommands } from './commands.controller.ts';
import { Dispatcher } from './dispatcher.ts';
import { DispatcherTopics } from './topics.controller.ts';
import { type DispatcherOptions, type DispatcherPorts, wireDispatcher } from './wire.ts';

/** Records triggers, carries out their actions, and keeps alerts, orders and directives. Speaks to the bus only. */
@Module({ controllers: [DispatcherCommands, DispatcherTopics] })
export class ActionDispatcherModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(@Inject(Dispatcher) private readonly dispatcher: Dispatcher) {}

  static register(platform: DispatcherPorts, options?: DispatcherOptions): DynamicModule {
    return { module: ActionDispatcherModule, providers: providersOf(wireDispatcher(platform, options)) };
  }

  onApplicationBootstrap(): void {
    this.dispatcher.start();
  }

  /** Message handlers have stopped by now. */
  async onApplicationShutdown(): Promise<void> {
    await this.dispatcher.stop();
  }
}
