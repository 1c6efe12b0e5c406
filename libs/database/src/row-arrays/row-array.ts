import type { Pool } from 'pg';
import { ByteWriter } from './byte-writer.ts';

/** A composite type in this database. */
export interface RowType {
  readonly oid: number;
  readonly columns: readonly { readonly name: string; readonly oid: number }[];
}

/** Reads composite types from the catalog. @throws if one does not exist */
export async function readRowTypes<N extends string>(
  pool: Pick<Pool, 'query'>,
  names: readonly N[],
): Promise<Readonly<Record<N, RowType>>> {
  const { rows } = await pool.query<{ type: N; oid: number; name: string; column: number }>(
    `select t.typname as type, t.oid, a.attname as name, a.atttypid as column
    from pg_type t join pg_attribute a on a.attrelid = t.typrelid
    where t.oid = any($1::regtype[]) and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    [names],
  );
  const found = names.map((name) => {
    const columns = rows.filter(({ type }) => type === name);
    return [name, { oid: columns[0]?.oid ?? 0, columns: columns.map((row) => ({ name: row.name, oid: row.column })) }];
  });
  return Object.fromEntries(found) as Record<N, RowType>;
}

const BOOL = 16;
const INT8 = 20;
const TEXT = 25;
const FLOAT8 = 701;
const TEXT_ARRAY = 1009;
const JSONB = 3802;
const JSONB_VERSION = 1;
/** Array header: number of dimensions, whether there are nulls, element type; then length and lower bound. */
const ONE_DIMENSION = 1;
const NO_NULLS = 0;
const FIRST = 1;

/** JSON that is already serialized. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** Value of each column by name. Columns without an entry, and missing values, are null. */
export type Columns<T> = Readonly<Record<string, (row: T) => unknown>>;

/**
 * Builds rows as one statement parameter: an array of a composite type in PostgreSQL's binary format (`array_send` and
 * `record_send` in its sources). The server does not have to parse it; parsing JSON costs it more than storing the
 * rows.
 *
 * Columns may be boolean, bigint (whole numbers), double precision, text, text[] and jsonb (any JSON value or
 * `JsonText`).
 */
export class RowArray<T> {
  readonly #type: RowType;
  readonly #columns: readonly (RowType['columns'][number] & { readonly valueIn: (row: T) => unknown })[];
  readonly #bytes: ByteWriter;
  #countAt = 0;
  #rows = 0;

  /** @param bytes expected size, if known, to avoid growing the buffer */
  constructor(type: RowType, columns: Columns<T>, bytes?: number) {
    this.#type = type;
    this.#columns = type.columns.map(({ name, oid }) => ({ name, oid, valueIn: columns[name] ?? nothing }));
    this.#bytes = new ByteWriter(bytes);
    this.clear();
  }

  get count(): number {
    return this.#rows;
  }

  /** Starts over and overwrites the buffer that `toBuffer` returned. */
  clear(): void {
    this.#bytes.clear();
    this.#bytes.int32(ONE_DIMENSION);
    this.#bytes.int32(NO_NULLS);
    this.#bytes.int32(this.#type.oid);
    this.#countAt = this.#bytes.int32(0);
    this.#bytes.int32(FIRST);
    this.#rows = 0;
  }

  /** @throws RangeError if a value does not fit its column's type */
  add(row: T): void {
    const lengthAt = this.#bytes.int32(0);
    this.#bytes.int32(this.#columns.length);
    for (const { name, oid, valueIn } of this.#columns) {
      this.#bytes.int32(oid);
      const value = valueIn(row);
      if (value === undefined || value === null) this.#bytes.int32(-1);
      else this.#write(name, oid, value);
    }
    this.#bytes.close(lengthAt);
    this.#rows += 1;
  }

  /** Parameter value for a query, which must have been sent before `clear` is called. */
  toBuffer(): Buffer {
    this.#bytes.setInt32(this.#countAt, this.#rows);
    return this.#bytes.toBuffer();
  }

  #write(name: string, oid: number, value: unknown): void {
    const bytes = this.#bytes;
    if (oid === TEXT && typeof value === 'string') bytes.text(value);
    else if (oid === INT8 && typeof value === 'number') bytes.int8(value);
    else if (oid === BOOL && typeof value === 'boolean') bytes.bool(value);
    else if (oid === FLOAT8 && typeof value === 'number') bytes.float8(value);
    else if (oid === JSONB) bytes.text(value instanceof JsonText ? value.text : JSON.stringify(value), JSONB_VERSION);
    else if (oid === TEXT_ARRAY && Array.isArray(value)) this.#texts(name, value);
    else throw new RangeError(`${name} cannot hold a ${typeof value}`);
  }

  #texts(name: string, values: readonly unknown[]): void {
    const bytes = this.#bytes;
    const lengthAt = bytes.int32(0);
    bytes.int32(values.length === 0 ? 0 : ONE_DIMENSION);
    bytes.int32(NO_NULLS);
    bytes.int32(TEXT);
    if (values.length > 0) {
      bytes.int32(values.length);
      bytes.int32(FIRST);
    }
    for (const value of values) {
      if (typeof value !== 'string') throw new RangeError(`${name} cannot hold a ${typeof value}`);
      bytes.text(value);
    }
    bytes.close(lengthAt);
  }
}

function nothing(): undefined {
  return undefined;
}
