import { startDistributed } from './support/distributed.ts';
import { startEmbedded } from './support/embedded.ts';
import { describeHistory } from './support/history-scenarios.ts';

describeHistory('in one process', 1, startEmbedded);
describeHistory('over NATS, Redis and Postgres', 1, () => startDistributed({ evaluators: 1 }));
describeHistory('with three evaluators', 3, () => startDistributed({ evaluators: 3 }));
