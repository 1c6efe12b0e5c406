import type { Column } from './driver.ts';
import type { World } from './world.ts';

/** One thing every adapter must do, shown with each framework. */
export interface Scenario {
  /** A sentence about the agent's behaviour. */
  readonly name: string;
  /** The cells of the table it stands for. */
  readonly proves?: readonly Column[];
  /** A guard that does nothing must fail it. */
  readonly needsGuard?: boolean;
  play(world: World): Promise<void>;
}
