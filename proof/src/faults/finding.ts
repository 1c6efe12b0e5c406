import type { Check } from './check.ts';

export interface FindingEntry {
  /** Seconds since the fault test began. */
  readonly at: number;
  readonly text: string;
}

/** What one fault test found. */
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
  /** Why it broke off, or why it cannot be tried here. */
  readonly reason?: string;
  /** The try before this one, which may have failed by the machine. */
  readonly earlier?: FaultFinding;
}

/**
 * Whether a failure may be the machine's: the fault broke off, or something was late. A platform that had digested all
 * in time and counted wrong is at fault itself.
 */
export function mayBeTheMachine({ outcome, reason, checks }: FaultFinding): boolean {
  return outcome === 'failed' && (reason !== undefined || checks.some(({ ok, ofTime }) => !ok && ofTime === true));
}
