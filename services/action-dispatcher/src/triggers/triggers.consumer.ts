import { guardrailTriggered, type Trigger } from '@agentlens/contracts';
import { ACK, type EventBus, each, type Outcome, type Received, type Subscription } from '@agentlens/messaging';
import { isDataError } from './data-error.ts';
import type { Recorded, TriggerRecorder } from './trigger-recorder.ts';

export const GROUP = 'action-dispatcher';
const MAX_BATCH = 64;
const CONCURRENCY = 4;

/** Takes triggers off the bus: acknowledged once they are recorded, before anything is carried out. */
export class TriggersConsumer {
  #subscription: Subscription | undefined;

  constructor(
    private readonly bus: EventBus,
    private readonly recorder: TriggerRecorder,
    private readonly onRecorded: (recorded: Recorded) => void,
  ) {}

  async start(): Promise<void> {
    const handler = each((message: Received<Trigger>) => this.#take(message), CONCURRENCY);
    this.#subscription = await this.bus.consume(guardrailTriggered, { group: GROUP, maxBatch: MAX_BATCH }, handler);
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
  }

  async #take({ value, headers }: Received<Trigger>): Promise<Outcome> {
    try {
      this.onRecorded(await this.recorder.record(value, headers.traceparent));
      return ACK;
    } catch (error) {
      if (isDataError(error)) return { kind: 'poison', reason: `the trigger cannot be stored: ${error.message}` };
      throw error;
    }
  }
}
