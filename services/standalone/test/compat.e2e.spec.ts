import { describeCompatibility } from './support/compat-scenarios.ts';
import { startEmbedded } from './support/embedded.ts';

describeCompatibility('in one process', startEmbedded);
