/** Old ones may be deleted by now. */
const KEPT = 20;

/** Values that answers named, so that requests can be about what exists and go on from where an answer ended. */
export class KnownValues {
  private readonly pools = new Map<string, string[]>();

  /** Takes note of the ids of an answer, and of where its page ended. */
  learn(path: string, body: unknown): void {
    if (typeof body !== 'object' || body === null) return;
    for (const [name, value] of Object.entries(body)) {
      if (typeof value === 'string') this.keep(poolOf(path, PARAMETER_OF.get(name) ?? name), value);
      else this.learn(path, value);
    }
  }

  /** What a parameter of a path may be. */
  of(path: string, parameter: string): readonly string[] {
    return this.pools.get(poolOf(path, parameter) ?? '') ?? [];
  }

  private keep(pool: string | undefined, value: string): void {
    if (pool === undefined) return;
    const kept = (this.pools.get(pool) ?? []).filter((known) => known !== value);
    this.pools.set(pool, [...kept, value].slice(-KEPT));
  }
}

/** The parameters that say where to go on, by the member of an answer that says where it ended. */
const PARAMETER_OF: ReadonlyMap<string, string> = new Map([
  ['nextCursor', 'cursor'],
  ['next', 'after'],
  ['etag', 'If-None-Match'],
]);
const PLACES = new Set(PARAMETER_OF.values());

/**
 * Where values of a name belong together: an `agentId` means the same everywhere, an `id` within `/api/budgets` and what is
 * below it, a cursor in the one list it is of.
 */
function poolOf(path: string, name: string): string | undefined {
  if (name === 'id') return `${path.split('/{', 1)[0]} id`;
  if (PLACES.has(name)) return `${path} ${name}`;
  return name.endsWith('Id') ? name : undefined;
}
