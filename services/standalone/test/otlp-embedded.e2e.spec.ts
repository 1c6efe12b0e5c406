import { startEmbedded } from './support/embedded.ts';
import { describeOtlp } from './support/otlp-scenarios.ts';

describeOtlp('in one process', startEmbedded);
