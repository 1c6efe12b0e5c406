import type { Check } from './check.ts';
import type { Site, SiteOptions } from './site.ts';

/** What a fault test works with. */
export interface Lab {
  readonly root: string;
  /** Of this test; the same seed makes the same choices. */
  readonly seed: number;
  /** Uniform in [0, 1), drawn from the seed. */
  readonly random: () => number;
  readonly smoke: boolean;
  /** How long the soak lasts. */
  readonly minutes: number;
  /** A running platform shared with the tests before and after, with nothing in flight. */
  site(): Promise<Site>;
  /** A platform of this test's own; it goes with the test. */
  freshSite(options?: SiteOptions): Promise<Site>;
  /** Adds a line to the timeline. */
  note(text: string): void;
  check(...checks: readonly Check[]): void;
  /**
   * A check that something took no longer than so many milliseconds of a quiet machine: the limit is multiplied by how
   * slow this one was meanwhile, and by four in the short set, which is there for what is lost and not for what is late.
   */
  within(name: string, limitMs: number, foundMs: number): void;
  /** How slow the machine is just now; 1 where nothing else runs. */
  slowness(): number;
  /** A number worth reading, with its unit. */
  measure(name: string, value: number, unit: string): void;
  /** A whole number from `from` to `to`. */
  between(from: number, to: number): number;
  sleep(ms: number): Promise<void>;
}

/** One fault: an entry of a file in `cases/`, listed in `cases/index.ts`. */
export interface Fault {
  readonly id: string;
  readonly title: string;
  /** Part of the short set. */
  readonly smoke?: boolean;
  run(lab: Lab): Promise<void>;
}

/** Thrown by a fault that cannot be tried here; says why. */
export class NotHere extends Error {
  override readonly name = 'NotHere';
}
