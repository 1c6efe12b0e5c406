import { type RecordingServer, recordingServer } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { type Dispatching, dispatching, START } from './dispatching.ts';

/**
 * Provides one world for the tests of a block. Before the block's own `beforeEach`, each test gets a fresh receiver and
 * the clock is reset. Before the block's own `afterEach`, everything the test started is stopped.
 */
export function withReceiver(given: (world: Dispatching, receiver: RecordingServer) => void): void {
  let world: Dispatching;
  let receiver: RecordingServer;
  beforeAll(async () => {
    world = await dispatching();
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    world.clock.set(START);
    receiver = await recordingServer();
    given(world, receiver);
  });
  afterEach(async () => {
    await world.stopAll();
    await receiver.close();
  });
}
