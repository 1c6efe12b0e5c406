import { startEmbedded } from './support/embedded.ts';
import { describeMcp } from './support/mcp-scenarios.ts';

describeMcp('in one process', startEmbedded);
