import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Where `npm run start:distributed` notes the address of its NATS server, with the password. */
export function natsAddressFile() {
  return resolve(process.env.AGENTLENS_DATA_DIR ?? join(root, '.agentlens'), 'distributed/nats-url');
}

/** `NATS_URL`, else the server that was started here, else the usual port of this machine. */
export function natsAddress() {
  const noted = natsAddressFile();
  if (process.env.NATS_URL !== undefined) return process.env.NATS_URL;
  return existsSync(noted) ? readFileSync(noted, 'utf8').trim() : 'nats://127.0.0.1:4222';
}

/** What the NATS client wants: it does not read credentials out of an address. */
export function natsConnection(address) {
  const { username, password } = new URL(address.split(',')[0]);
  const credentials = username === '' ? {} : { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  return { servers: address.split(',').map((one) => new URL(one).host), ...credentials };
}

/** The address as it may be shown. */
export function withoutPassword(url) {
  return url.replace(/:[^:@/]+@/, ':***@');
}
