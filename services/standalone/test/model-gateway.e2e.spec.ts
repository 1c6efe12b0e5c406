import { startEmbedded } from './support/embedded.ts';
import { describeModelGateway } from './support/model-gateway-scenarios.ts';

describeModelGateway('in one process', startEmbedded);
