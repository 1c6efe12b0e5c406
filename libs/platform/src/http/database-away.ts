/** SQLSTATE codes of an unavailable server: connection (08), resources (53), shutdown and start (57P0x). */
const AWAY_STATES = /^(08...|53[013]00|57P0[1-3])$/;
const AWAY_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EHOSTUNREACH']);
/** `pg` reports its own timeouts and lost connections without a code. */
const AWAY_MESSAGES =
  /^(timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client (was closed|has encountered a connection error))/;

/** True if the database did not answer, as opposed to answering with an error. */
export function isDatabaseAway(error: unknown): boolean {
  if (!looksLikeError(error)) return false;
  const { code, message, cause } = error;
  if (typeof code === 'string' && (AWAY_STATES.test(code) || AWAY_CODES.has(code))) return true;
  return AWAY_MESSAGES.test(message) || isDatabaseAway(cause);
}

/** Checks properties instead of the class: in Jest, socket errors come from another realm. */
function looksLikeError(error: unknown): error is { message: string; code?: unknown; cause?: unknown } {
  return typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string';
}
