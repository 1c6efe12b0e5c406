import type { Decision } from '@agentlens/contracts';
import { ACK, backOff, type HandlingOutcome, type Received } from '@agentlens/messaging';
import { databaseFault, faultText } from '../recording/database-fault.ts';
import type { DecisionStore } from './decision-store.ts';

interface DecisionRecorderDependencies {
  readonly store: Pick<DecisionStore, 'record'>;
  /** Called after each commit with the number of new decisions. */
  readonly onRecorded: (stored: number) => void;
  readonly onPoison: (reason: string) => void;
  readonly onAway: (error: unknown) => void;
}

/**
 * Result of storing decisions: stored, database unavailable, or a decision that can never be stored, with the reason.
 */
type Attempt = 'stored' | 'away' | { readonly fault: string };

/** Stores decisions and returns one outcome per message. */
export class DecisionRecorder {
  constructor(private readonly parts: DecisionRecorderDependencies) {}

  async record(messages: readonly Received<Decision>[]): Promise<readonly HandlingOutcome[]> {
    const whole = await this.#attempt(messages);
    if (typeof whole === 'string' || messages.length === 1) {
      return messages.map((message) => this.#outcome(whole, message));
    }
    // One by one, so that one that cannot be stored does not affect the others.
    const outcomes: HandlingOutcome[] = [];
    for (const message of messages) outcomes.push(this.#outcome(await this.#attempt([message]), message));
    return outcomes;
  }

  async #attempt(messages: readonly Received<Decision>[]): Promise<Attempt> {
    try {
      this.parts.onRecorded(await this.parts.store.record(messages.map(({ value }) => value)));
      return 'stored';
    } catch (error) {
      if (databaseFault(error) === 'data') {
        return { fault: faultText('decision', messages[0]?.value.id ?? '', error) };
      }
      this.parts.onAway(error);
      return 'away';
    }
  }

  #outcome(attempt: Attempt, message: Received<Decision>): HandlingOutcome {
    if (attempt === 'stored') return ACK;
    if (attempt === 'away') {
      const reason = 'the database does not take decisions at the moment';
      return { kind: 'retry', afterMs: backOff(message.attempt), reason };
    }
    this.parts.onPoison(attempt.fault);
    return { kind: 'poison', reason: attempt.fault };
  }
}
