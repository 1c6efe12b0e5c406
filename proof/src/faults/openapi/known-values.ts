/** Older ones may have been deleted. */
const KEPT = 20;

/** Values from responses, so that requests can refer to existing items and continue pages. */
export class KnownValues {
  private readonly pools = new Map<string, string[]>();

  /** Records the ids of a response, and the end of its page. */
  learn(path: string, body: unknown): void {
    if (typeof body !== 'object' || body === null) return;
    for (const [name, value] of Object.entries(body)) {
      if (typeof value === 'string') this.keep(poolOf(path, PARAMETER_OF.get(name) ?? name), value);
      else this.learn(path, value);
    }
  }

  /** Returns known values of a path parameter. */
  of(path: string, parameter: string): readonly string[] {
    return this.pools.get(poolOf(path, parameter) ?? '') ?? [];
  }

  private keep(pool: string | undefined, value: string): void {
    if (pool === undefined) return;
    const kept = (this.pools.get(pool) ?? []).filter((known) => known !== value);
    this.pools.set(pool, [...kept, value].slice(-KEPT));
  }
}

/** Query parameters that continue a page, by the response member with the position. */
const PARAMETER_OF: ReadonlyMap<string, string> = new Map([
  ['nextCursor', 'cursor'],
  ['next', 'after'],
  ['etag', 'If-None-Match'],
]);
const PLACES = new Set(PARAMETER_OF.values());

/**
 * Returns the pool in which values of a name are shared: an `agentId` means the same everywhere, an `id` belongs to
 * `/api/budgets` and the paths below it, a cursor to a single list.
 */
function poolOf(path: string, name: string): string | undefined {
  if (name === 'id') return `${path.split('/{', 1)[0]} id`;
  if (PLACES.has(name)) return `${path} ${name}`;
  return name.endsWith('Id') ? name : undefined;
}
