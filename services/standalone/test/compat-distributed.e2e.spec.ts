import { describeCompatibility } from './support/compat-scenarios.ts';
import { startDistributed } from './support/distributed.ts';

describeCompatibility('in six parts over NATS, Redis and Postgres', startDistributed);
