import { deserialize, serialize } from 'node:v8';
import { ExpiringMap } from './evicting-maps.ts';

/** How values that are more than data are put away and taken out again. */
export interface Form<V> {
  put(value: V): unknown;
  take(put: unknown): V;
}

interface Snapshot {
  readonly version: number;
  readonly maps: Readonly<Record<string, readonly (readonly [string, unknown, number])[]>>;
}

/** Rises where what the maps hold changes its form. */
const VERSION = 1;

/** The maps of a process's memory by name, so that all of them can be put away together and be there again later. */
export class MemorySnapshots {
  readonly #now: () => number;
  readonly #kept: Snapshot['maps'];
  readonly #maps = new Map<string, () => readonly (readonly [string, unknown, number])[]>();

  /**
   * @param snapshot what `snapshot` of an earlier process answered
   * @throws where that cannot be read, or is of another version
   */
  constructor(now: () => number, snapshot?: Uint8Array) {
    this.#now = now;
    const read = snapshot === undefined ? undefined : (deserialize(snapshot) as Snapshot);
    if (read !== undefined && read.version !== VERSION)
      throw new Error(`state of version ${read.version} is not known`);
    this.#kept = read?.maps ?? {};
  }

  /** Without a form the values have to be data: what `structuredClone` takes, and nothing with methods. */
  map<V>(name: string, form: Form<V> = { put: (value) => value, take: (put) => put as V }): ExpiringMap<V> {
    const map = new ExpiringMap<V>(this.#now);
    for (const [key, put, endsAtMs] of this.#kept[name] ?? []) map.keep(key, form.take(put), endsAtMs);
    this.#maps.set(name, () => map.entries().map(([key, value, endsAtMs]) => [key, form.put(value), endsAtMs]));
    return map;
  }

  /** Everything that is in the maps now. */
  snapshot(): Uint8Array {
    const maps = Object.fromEntries([...this.#maps].map(([name, entries]) => [name, entries()]));
    return serialize({ version: VERSION, maps } satisfies Snapshot);
  }
}
