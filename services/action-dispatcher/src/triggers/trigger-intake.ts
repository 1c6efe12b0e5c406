import type { Trigger } from '@agentlens/contracts';
import { refusalText } from '@agentlens/database';
import { ACK, type HandlingOutcome, type Received } from '@agentlens/messaging';
import { inHalves } from '../in-halves.ts';
import type { RecordedTriggers, TriggerRecorder } from './trigger-recorder.ts';

/** Takes batches of triggers: each is acknowledged once it is recorded, before its action is carried out. */
export class TriggerIntake {
  constructor(
    private readonly recorder: TriggerRecorder,
    /** Called with one result per trigger, in order. */
    private readonly onRecorded: (recorded: readonly RecordedTriggers[], triggers: readonly Trigger[]) => void,
  ) {}

  take(messages: readonly Received<Trigger>[]): Promise<HandlingOutcome[]> {
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
