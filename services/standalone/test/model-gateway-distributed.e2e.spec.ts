import { startDistributed } from './support/distributed.ts';
import { describeModelGateway } from './support/model-gateway-scenarios.ts';

describeModelGateway('as services over NATS, Redis and Postgres', startDistributed);
