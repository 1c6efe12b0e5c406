import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { type Dispatching, dispatching, START } from './dispatching.ts';
import { reviewing } from './reviewing.ts';

/**
 * One world for the tests of a block, and what people and agents ask of it. Each test begins with the clock at its start,
 * before the block's own `beforeEach`; what it started is stopped before the block's own `afterEach`.
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
