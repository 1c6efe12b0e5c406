import type { Json } from '../core/json.ts';

export interface DatabaseRow {
  readonly key: string;
  readonly value: Json;
  /** Increases with each write of the key. */
  readonly version: number;
}

export interface FoundRow extends DatabaseRow {
  readonly collection: string;
  readonly score: number;
}

export interface WriteOptions {
  /** @throws AgentError `conflict` if the key exists */
  readonly ifAbsent?: boolean;
  /** @throws AgentError `conflict` if the key has another version */
  readonly ifVersion?: number;
  readonly ttlMs?: number;
}

export interface FieldRange {
  readonly gt?: string | number;
  readonly gte?: string | number;
  readonly lt?: string | number;
  readonly lte?: string | number;
  readonly in?: readonly (string | number | boolean | null)[];
}

export type FieldCondition = string | number | boolean | null | FieldRange;

export interface DatabaseQuery {
  /** Fields of the value, `a.b` for nested ones. All conditions must hold. */
  readonly where?: Readonly<Record<string, FieldCondition>>;
  /** Only keys with this prefix. */
  readonly prefix?: string;
  /** Only keys after this one, in key order. */
  readonly after?: string;
  /** A field of the value; absent values come last. Default: by key. */
  readonly orderBy?: { readonly field: string; readonly descending?: boolean };
  /** Default 100, at most 1000. */
  readonly limit?: number;
}

/** Documents by key in collections. Keys are ordered by code unit. */
export interface DatabaseClient {
  write(collection: string, key: string, value: Json, options?: WriteOptions): Promise<{ readonly version: number }>;
  read(collection: string, key: string): Promise<DatabaseRow | null>;
  query(collection: string, query?: DatabaseQuery): Promise<DatabaseRow[]>;
  search?(text: string, options?: { readonly collection?: string; readonly topK?: number }): Promise<FoundRow[]>;
  delete?(collection: string, key: string): Promise<boolean>;
  close?(): Promise<void>;
}
