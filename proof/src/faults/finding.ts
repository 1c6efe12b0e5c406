import type { Check } from './check.ts';

export interface FindingEntry {
  /** Seconds since the start of the fault test. */
  readonly at: number;
  readonly text: string;
}

/** The result of one fault test. */
export interface FaultFinding {
  readonly id: string;
  readonly title: string;
  readonly seed: number;
  readonly outcome: 'passed' | 'failed' | 'not here';
  readonly startedAt: string;
  readonly seconds: number;
  readonly timeline: readonly FindingEntry[];
  readonly checks: readonly Check[];
  readonly measures: Readonly<Record<string, string>>;
  /** Why the test was aborted, or why it cannot run here. */
  readonly reason?: string;
  /** The previous try, if it may have failed because of the machine. */
  readonly earlier?: FaultFinding;
}

/**
 * Whether the machine may have caused a failure: the test was aborted, or something was late. If the platform processed
 * everything in time and counted wrong, the platform is at fault.
 */
export function mayBeTheMachine({ outcome, reason, checks }: FaultFinding): boolean {
  return outcome === 'failed' && (reason !== undefined || checks.some(({ ok, ofTime }) => !ok && ofTime === true));
}
