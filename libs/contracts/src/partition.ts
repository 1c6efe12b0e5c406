/**
 * How many ways the events of a stream can be split; part of the published contract, so it never changes. Many enough
 * for more evaluators than one Redis can feed, few enough that small requests of different agents meet in one message.
 */
export const PARTITIONS = 16;

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Two-digit partition of an agent: FNV-1a (32 bit) over the UTF-16 code units of `tenant:agent`, modulo 16. */
export function partitionOf(tenantId: string, agentId: string): string {
  let hash = FNV_OFFSET;
  const key = `${tenantId}:${agentId}`;
  for (let i = 0; i < key.length; i++) {
    hash = Math.imul(hash ^ key.charCodeAt(i), FNV_PRIME);
  }
  return String((hash >>> 0) % PARTITIONS).padStart(2, '0');
}
