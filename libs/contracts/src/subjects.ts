const UNSAFE = /[^A-Za-z0-9_-]/g;
const encoder = new TextEncoder();

/**
 * Encodes any client-chosen text as one NATS subject token: everything outside `[A-Za-z0-9_-]` becomes `=XX` per UTF-8
 * byte, so `crew/role.1` cannot add tokens or wildcards to a subject.
 */
export function subjectToken(text: string): string {
  return text.toWellFormed().replace(UNSAFE, (unit) => encodeUnit(unit)) || '=00';
}

function encodeUnit(unit: string): string {
  // A surrogate pair arrives as two units. Encoding each code unit is unambiguous and needs no look-ahead.
  const code = unit.charCodeAt(0);
  if (code >= 0xd800 && code <= 0xdfff) return `=u${code.toString(16).toUpperCase()}`;
  return [...encoder.encode(unit)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/**
 * Number of partitions for splitting events between consumers. Part of the published contract, so it never changes.
 * Partitioned by tenant: events of one tenant may share a message, regardless of the agent.
 */
const PARTITIONS = 16;

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Returns the two-digit partition of a tenant: FNV-1a (32 bit) over the UTF-16 code units of its id, modulo 16. */
export function partitionOf(tenantId: string): string {
  let hash = FNV_OFFSET;
  for (let i = 0; i < tenantId.length; i++) {
    hash = Math.imul(hash ^ tenantId.charCodeAt(i), FNV_PRIME);
  }
  return String((hash >>> 0) % PARTITIONS).padStart(2, '0');
}
