import type { Column } from './driver.ts';
import type { World } from './world.ts';

/** One behavior that every adapter must have, tested with each framework. */
export interface Scenario {
  /** A sentence about the agent's behavior. */
  readonly name: string;
  /** Table columns that it proves. */
  readonly proves?: readonly Column[];
  /** True if it must fail with a guard that does nothing. */
  readonly needsGuard?: boolean;
  play(world: World): Promise<void>;
}
