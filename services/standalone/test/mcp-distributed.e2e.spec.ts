import { startDistributed } from './support/distributed.ts';
import { describeMcp } from './support/mcp-scenarios.ts';

describeMcp('in a service of its own', startDistributed);
