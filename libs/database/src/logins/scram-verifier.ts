import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';

const ITERATIONS = 4096;
const KEY_BYTES = 32;

/**
 * What Postgres keeps in place of a password (RFC 5803). Sent instead of the password, which would stand in the server's
 * log with any statement that fails. The password must be ASCII: nothing is normalised.
 */
export function scramVerifier(password: string, salt: Buffer): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, KEY_BYTES, 'sha256');
  const keyFor = (use: string) => createHmac('sha256', salted).update(use).digest();
  const storedKey = createHash('sha256').update(keyFor('Client Key')).digest('base64');
  const serverKey = keyFor('Server Key').toString('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}
