import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to connections that go out (Linux from 32,768, others from 49,152): one of those
 * may take a port between the moment it was found free and the moment somebody listens on it.
 */
const LEAST = 12_000;
const MOST = 32_767;
const TRIES = 50;

/** A loopback port nobody listens on now: the wanted one where it is free. */
export async function freePort(wanted?: number): Promise<number> {
  if (wanted !== undefined && (await isFree(wanted))) return wanted;
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(LEAST, MOST + 1);
    if (await isFree(port)) return port;
  }
  throw new Error(`none of ${TRIES} ports between ${LEAST} and ${MOST} is free`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
