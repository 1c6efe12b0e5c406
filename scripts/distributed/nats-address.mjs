import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** File in which `npm run start:distributed` stores the address of its NATS server, with the password. */
export function natsAddressFile() {
  return resolve(process.env.AGENTLENS_DATA_DIR ?? join(root, '.agentlens'), 'distributed/nats-url');
}

/** The address without its password. */
export function withoutPassword(url) {
  return url.replace(/:[^:@/]+@/, ':***@');
}
