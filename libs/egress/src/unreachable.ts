/** Short texts for what went wrong below HTTP; raw error messages would carry addresses our resolver found. */
const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be resolved just now',
  ENODATA: 'the host name has no address',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'connecting timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connecting timed out',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stalled',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
  UND_ERR_SOCKET: 'connection closed before the answer was complete',
  UND_ERR_MAX_ORIGINS_REACHED: 'too many destinations at once',
  CERT_HAS_EXPIRED: 'TLS: the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS: the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLS: the certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLS: the certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: the certificate is for another host',
};

export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === null) return 'no complete answer';
  if (code.startsWith('HPE_')) return 'the answer is not HTTP';
  return REASONS[code] ?? (/SSL|TLS/.test(code) ? 'TLS handshake failed' : `no complete answer (${code})`);
}

/** Looks at the shape, not the class: errors of the runtime may come from another realm. */
function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null;
  if ('code' in error && typeof error.code === 'string') return error.code;
  // Several addresses tried, all failed: the first failure stands for them.
  if ('errors' in error && Array.isArray(error.errors)) return codeOf(error.errors[0]);
  return 'cause' in error ? codeOf(error.cause) : null;
}
