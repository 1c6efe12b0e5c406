import { startDistributed } from './support/distributed.ts';
import { describePlatform } from './support/scenarios.ts';

describePlatform('as services over NATS, Redis and Postgres', startDistributed);
