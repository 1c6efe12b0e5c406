import { type RecordingServer, recordingServer } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { type Dispatching, dispatching, START } from './dispatching.ts';

/**
 * One world for the tests of a block. Each test is given it with the clock at its start and a receiver of its own, before the
 * block's own `beforeEach`; what it started is stopped before the block's own `afterEach`.
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
