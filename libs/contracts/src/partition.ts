/**
 * How many ways the events of a stream can be split between consumers; part of the published contract, so it never
 * changes. Split by tenant: what belongs to one tenant may share a message, whoever of its agents it is about.
 */
const PARTITIONS = 16;

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Two-digit partition of a tenant: FNV-1a (32 bit) over the UTF-16 code units of its id, modulo 16. */
export function partitionOf(tenantId: string): string {
  let hash = FNV_OFFSET;
  for (let i = 0; i < tenantId.length; i++) {
    hash = Math.imul(hash ^ tenantId.charCodeAt(i), FNV_PRIME);
  }
  return String((hash >>> 0) % PARTITIONS).padStart(2, '0');
}
