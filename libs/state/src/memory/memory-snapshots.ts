import { deserialize, serialize } from 'node:v8';
import { ExpiringMap } from './evicting-maps.ts';

/** Converts values with methods to plain data and back. */
export interface Form<V> {
  put(value: V): unknown;
  take(put: unknown): V;
}

interface Snapshot {
  readonly version: number;
  readonly maps: Readonly<Record<string, readonly (readonly [string, unknown, number])[]>>;
}

/** Increase when the data in the maps changes its format. */
const VERSION = 1;

/** Named maps that can be saved together and restored by a later process. */
export class MemorySnapshots {
  readonly #now: () => number;
  readonly #kept: Snapshot['maps'];
  readonly #maps = new Map<string, () => readonly (readonly [string, unknown, number])[]>();

  /**
   * @param snapshot returned by `snapshot` of an earlier process
   * @throws if it cannot be read or has another version
   */
  constructor(now: () => number, snapshot?: Uint8Array) {
    this.#now = now;
    const read = snapshot === undefined ? undefined : (deserialize(snapshot) as Snapshot);
    if (read !== undefined && read.version !== VERSION)
      throw new Error(`state snapshot has unknown version ${read.version}`);
    this.#kept = read?.maps ?? {};
  }

  /** Creates a map. Without a form, values must be plain data that `structuredClone` accepts. */
  map<V>(name: string, form: Form<V> = { put: (value) => value, take: (put) => put as V }): ExpiringMap<V> {
    const map = new ExpiringMap<V>(this.#now);
    for (const [key, put, endsAtMs] of this.#kept[name] ?? []) map.keep(key, form.take(put), endsAtMs);
    this.#maps.set(name, () => map.entries().map(([key, value, endsAtMs]) => [key, form.put(value), endsAtMs]));
    return map;
  }

  /** Serializes the current content of all maps. */
  snapshot(): Uint8Array {
    const maps = Object.fromEntries([...this.#maps].map(([name, entries]) => [name, entries()]));
    return serialize({ version: VERSION, maps } satisfies Snapshot);
  }
}
