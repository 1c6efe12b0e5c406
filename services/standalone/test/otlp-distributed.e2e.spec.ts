import { startDistributed } from './support/distributed.ts';
import { describeOtlp } from './support/otlp-scenarios.ts';

describeOtlp('as services over NATS, Redis and Postgres', startDistributed);
