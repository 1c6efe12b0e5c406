/** Typed key of a runtime object. Keys are compared by identity. */
export interface ResourceKey<T> {
  readonly name: string;
  /** Never present at run time; carries the type. */
  readonly type?: (value: T) => T;
}

export function ResourceKey<T>(name: string): ResourceKey<T> {
  return Object.freeze({ name });
}

type ClassOf<T> = abstract new (...args: never[]) => T;
export type ResourceId<T> = ResourceKey<T> | ClassOf<T>;

/** Runtime objects that tools share and that are not stored: connections, watchers, a todo list. */
export class ResourceMap {
  readonly #values = new Map<object, unknown>();

  insert<T>(key: ResourceId<T>, value: T): this {
    this.#values.set(key, value);
    return this;
  }

  get<T>(key: ResourceId<T>): T | undefined {
    // Only `insert` writes, with a value of the key's type.
    return this.#values.get(key) as T | undefined;
  }

  contains(key: ResourceId<unknown>): boolean {
    return this.#values.has(key);
  }

  remove<T>(key: ResourceId<T>): T | undefined {
    const value = this.get(key);
    this.#values.delete(key);
    return value;
  }
}
