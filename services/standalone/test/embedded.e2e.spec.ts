import { startEmbedded } from './support/embedded.ts';
import { describePlatform } from './support/scenarios.ts';

describePlatform('in one process', startEmbedded);
