/** SQLSTATE classes and codes that say "not now": connection (08), resources (53), shutdown and start-up (57P0x). */
const AWAY_STATES = /^(08...|53[013]00|57P0[1-3])$/;
const AWAY_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EHOSTUNREACH']);
/** `pg` reports its own time-outs and lost connections without a code. */
const AWAY_MESSAGES =
  /^(timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client was closed)/;

/** True when the database did not answer, as against answering with an error of ours. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string' && (AWAY_STATES.test(code) || AWAY_CODES.has(code))) return true;
  return AWAY_MESSAGES.test(error.message) || (error.cause instanceof Error && isDatabaseAway(error.cause));
}
