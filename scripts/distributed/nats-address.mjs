import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Where `npm run start:distributed` notes the address of its NATS server, with the password. */
export function natsAddressFile() {
  return resolve(process.env.AGENTLENS_DATA_DIR ?? join(root, '.agentlens'), 'distributed/nats-url');
}

/** The address as it may be shown. */
export function withoutPassword(url) {
  return url.replace(/:[^:@/]+@/, ':***@');
}
