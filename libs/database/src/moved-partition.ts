const CHECK_VIOLATION = '23514';

/**
 * True where a row was on its way to the default partition while the partition it belongs to was attached by somebody
 * else. Postgres calls it a check violation, but of no constraint that has a name. The row is not to blame: the next
 * attempt finds its partition.
 */
export function isMovedPartition(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { readonly code?: unknown; readonly constraint?: unknown };
  return code === CHECK_VIOLATION && constraint === undefined;
}
