import type { Check } from './check.ts';

export interface TimelineEntry {
  /** Seconds since the fault test began. */
  readonly at: number;
  readonly text: string;
}

/** What one fault test found. */
export interface Finding {
  readonly id: string;
  readonly title: string;
  readonly seed: number;
  readonly outcome: 'passed' | 'failed' | 'not here';
  readonly startedAt: string;
  readonly seconds: number;
  readonly timeline: readonly TimelineEntry[];
  readonly checks: readonly Check[];
  readonly measures: Readonly<Record<string, string>>;
  /** Why it broke off, or why it cannot be tried here. */
  readonly reason?: string;
}
