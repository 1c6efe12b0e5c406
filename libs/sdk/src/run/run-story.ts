import type { RuntimeClock } from '../runtime/runtime.ts';
import type { RunRef } from '../sink/audit-event.ts';
import type { EventSink } from '../sink/event-sink.ts';
import type { AgentMessage } from '../wire/model.ts';
import { messageData } from './run-events.ts';

export interface RunStoryDependencies {
  readonly clock: RuntimeClock;
  readonly sink: EventSink;
  readonly newId: () => string;
  readonly recordContent: boolean;
  readonly redactMessage: ((message: AgentMessage) => AgentMessage) | null;
}

/** Emits the run's events, numbered by the tool calls completed before each. */
export class RunStory {
  readonly #tools: RunStoryDependencies;
  readonly #ref: RunRef;
  #stepIndex = 0;

  constructor(ref: RunRef, tools: RunStoryDependencies) {
    this.#ref = ref;
    this.#tools = tools;
  }

  get stepIndex(): number {
    return this.#stepIndex;
  }

  nextStep(): void {
    this.#stepIndex++;
  }

  tell(kind: string, data: Readonly<Record<string, unknown>>): void {
    const { sink, clock, newId } = this.#tools;
    const stepIndex = kind === 'run.started' || kind === 'run.ended' ? undefined : this.#stepIndex;
    sink.add({ id: newId(), at: clock.now(), kind, run: this.#ref, stepIndex, data });
  }

  /** Records a message that is already cleaned. */
  recordMessage(message: AgentMessage): void {
    this.tell('message.raw.created', messageData(this.#tools.newId(), message, this.#tools.recordContent));
  }

  /** Returns the message as it may be recorded and sent. */
  cleaned<M extends AgentMessage>(message: M): M {
    const { redactMessage } = this.#tools;
    if (redactMessage === null) return message;
    try {
      return { ...message, ...redactMessage(message) };
    } catch {
      // A message that could not be cleaned must not be sent unchanged.
      return { ...message, content: '[not sent: its redaction failed]' };
    }
  }
}
