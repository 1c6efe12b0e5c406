import type { Check } from './check.ts';
import type { Site, SiteOptions } from './site.ts';

/** Tools of a fault test. */
export interface Lab {
  readonly root: string;
  /** Seed of this test. The same seed makes the same choices. */
  readonly seed: number;
  /** Uniform in [0, 1), from the seed. */
  readonly random: () => number;
  readonly smoke: boolean;
  /** Duration of the soak. */
  readonly minutes: number;
  /** A running platform that tests share, with nothing in flight. */
  site(): Promise<Site>;
  /** A separate platform, which is closed with the test. */
  freshSite(options?: SiteOptions): Promise<Site>;
  /** Adds a line to the timeline. */
  note(text: string): void;
  check(...checks: readonly Check[]): void;
  /**
   * Checks that something took at most this many milliseconds of a quiet machine. The limit is multiplied by the
   * slowness of the machine during the test, and by four in the short set, which looks for losses and not for delays.
   */
  within(name: string, limitMs: number, foundMs: number): void;
  /** Current slowness of the machine; 1 if nothing else runs. */
  slowness(): number;
  /** Reports a number with its unit. */
  measure(name: string, value: number, unit: string): void;
  /** A random integer from `from` to `to`. */
  between(from: number, to: number): number;
  sleep(ms: number): Promise<void>;
}

/** One fault test: an entry of a file in `cases/`, listed in `cases/index.ts`. */
export interface Fault {
  readonly id: string;
  readonly title: string;
  /** Part of the short set. */
  readonly smoke?: boolean;
  run(lab: Lab): Promise<void>;
}

/** Thrown by a fault test that this machine cannot run, with the reason. */
export class NotHere extends Error {
  override readonly name = 'NotHere';
}

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
