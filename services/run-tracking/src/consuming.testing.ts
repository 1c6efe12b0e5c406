import { agentEvents, decisionDecided } from '@agentlens/contracts';
import type { EventBus, Subscription } from '@agentlens/messaging';
import { DecisionTracker } from './decisions/decision-tracker.ts';
import { DECISIONS, EVENTS } from './messages.controller.ts';
import { RunTracker } from './run-tracker.ts';

/** A run tracker that consumes events as the service does, without the rest of the service. */
export class ConsumingRunTracker extends RunTracker {
  readonly #bus: EventBus;
  #subscription: Subscription | undefined;

  constructor(dependencies: ConstructorParameters<typeof RunTracker>[0]) {
    super(dependencies);
    this.#bus = dependencies.bus;
  }

  override async start(): Promise<void> {
    await super.start();
    this.#subscription = await this.#bus.consume(agentEvents, EVENTS, (messages) => this.take(messages));
  }

  override async stop(): Promise<void> {
    await this.#subscription?.close();
    await super.stop();
  }
}

/** A decision tracker that consumes decisions as the service does, without the rest of the service. */
export class ConsumingDecisionTracker extends DecisionTracker {
  readonly #bus: EventBus;
  #subscription: Subscription | undefined;

  constructor(dependencies: ConstructorParameters<typeof DecisionTracker>[0]) {
    super(dependencies);
    this.#bus = dependencies.bus;
  }

  override async start(): Promise<void> {
    await super.start();
    this.#subscription = await this.#bus.consume(decisionDecided, DECISIONS, (messages) => this.take(messages));
  }

  override async stop(): Promise<void> {
    await this.#subscription?.close();
    await super.stop();
  }
}
