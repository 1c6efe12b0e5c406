import { describe } from '@jest/globals';
import { startDistributed } from './support/distributed.ts';
import { describeCrowd, describeStops } from './support/model-gateway-crowd.ts';
import { startGatewayWorld } from './support/model-gateway-world.ts';

describe('the model gateway under many callers, as services over NATS, Redis and Postgres', () => {
  const world = startGatewayWorld(startDistributed);
  describeCrowd(world);
  describeStops(world);
});
