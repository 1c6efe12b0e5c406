import { GROUPS, guardrailTriggered, type Trigger } from '@agentlens/contracts';
import { refusalText } from '@agentlens/database';
import { ACK, type EventBus, type HandlingOutcome, type Received, type Subscription } from '@agentlens/messaging';
import { inHalves } from '../in-halves.ts';
import type { RecordedTriggers, TriggerRecorder } from './trigger-recorder.ts';

export const GROUP = GROUPS.actionDispatcher;
const MAX_BATCH = 256;
/**
 * At rest a trigger waits for nobody. What follows is recorded together: a transaction for three costs what one for one does,
 * and each is a synced write that the events and triggers of others wait behind.
 */
const PACE_MS = 25;

/** Takes triggers off the bus: acknowledged once they are recorded, whatever becomes of carrying them out. */
export class TriggersConsumer {
  #subscription: Subscription | undefined;

  constructor(
    private readonly bus: EventBus,
    private readonly recorder: TriggerRecorder,
    /** What became of each, in their order. */
    private readonly onRecorded: (recorded: readonly RecordedTriggers[], triggers: readonly Trigger[]) => void,
  ) {}

  async start(): Promise<void> {
    const options = { group: GROUP, maxBatch: MAX_BATCH, paceMs: PACE_MS };
    this.#subscription = await this.bus.consume(guardrailTriggered, options, (messages) => this.#take(messages));
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
  }

  #take(messages: readonly Received<Trigger>[]): Promise<HandlingOutcome[]> {
    return inHalves(
      messages,
      async (some) => {
        const arrivals = some.map(({ value, headers }) => ({ trigger: value, traceparent: headers.traceparent }));
        const triggers = some.map(({ value }) => value);
        this.onRecorded(await this.recorder.record(arrivals), triggers);
        return some.map(() => ACK);
      },
      (_message, error) => ({ kind: 'poison', reason: `the trigger cannot be stored: ${refusalText(error)}` }),
    );
  }
}
