import { MINUTE_MS } from '@agentlens/contracts';
/** One message of events that was evaluated. */
export interface EvaluatedMessage {
  readonly tenantId: string;
  /** When the platform took it, ms. */
  readonly receivedAtMs: number;
  /** Its place in the stream: a message that is evaluated again counts once. */
  readonly sequence: number;
  readonly events: number;
}

/**
 * How many events were evaluated, by tenant and minute of arrival: the evaluators' own word, for the auditor. Minutes
 * are forgotten a day after the last message of theirs.
 */
export interface EvaluationTally {
  /** @throws StateUnavailable; then the same may be added again. */
  add(messages: readonly EvaluatedMessage[]): Promise<void>;
  /** Events by tenant of the minute that began at `minuteMs`. @throws StateUnavailable */
  read(minuteMs: number): Promise<ReadonlyMap<string, number>>;
}

export function minuteOf(atMs: number): number {
  return Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
}
