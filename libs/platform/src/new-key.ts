import { newApiKey } from './auth/api-key.ts';

/** Prints a key for AGENTLENS_BOOTSTRAP_KEY. */
process.stdout.write(`${newApiKey().key}\n`);
