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
