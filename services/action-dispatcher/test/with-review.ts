import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { type Dispatching, dispatching, START } from './dispatching.ts';
import { reviewing } from './reviewing.ts';

/**
 * Provides one world for the tests of a block, with the people and agents that use it. Before the block's own
 * `beforeEach`, the clock is reset. Before the block's own `afterEach`, everything the test started is stopped.
 */
export function withReview(given: (world: Dispatching, review: ReturnType<typeof reviewing>) => void): void {
  let world: Dispatching;
  beforeAll(async () => {
    world = await dispatching();
    given(world, reviewing(world));
  });
  afterAll(() => world.close());
  beforeEach(() => world.clock.set(START));
  afterEach(() => world.stopAll());
}
