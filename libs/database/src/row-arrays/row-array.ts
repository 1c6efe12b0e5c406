import type { Pool } from 'pg';
import { ByteWriter } from './byte-writer.ts';

/** A composite type, as this database knows it. */
export interface RowType {
  readonly oid: number;
  readonly columns: readonly { readonly name: string; readonly oid: number }[];
}

/** What the catalogue says of composite types. @throws where one is not there */
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
/** Number of dimensions, whether there are nulls, type of the elements; how many there are, number of the first. */
const ONE_DIMENSION = 1;
const NO_NULLS = 0;
const FIRST = 1;

/** JSON that is written down already; the server reads it. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** What each column of a row holds, by its name. Columns that are not named, and missing values, are null. */
export type Columns<T> = Readonly<Record<string, (row: T) => unknown>>;

/**
 * Rows for one parameter of a statement, an array of a composite type in the binary form of PostgreSQL (`array_send` and
 * `record_send` of its sources): the server takes it over without parsing, which for JSON costs it more than storing.
 *
 * Columns may be boolean, bigint (whole numbers), double precision, text, text[] and jsonb (anything JSON can say, or `JsonText`).
 */
export class RowArray<T> {
  readonly #type: RowType;
  readonly #columns: readonly (RowType['columns'][number] & { readonly valueIn: (row: T) => unknown })[];
  readonly #bytes: ByteWriter;
  #countAt = 0;
  #rows = 0;

  /** @param bytes how big it may become, where that is known: spares growing */
  constructor(type: RowType, columns: Columns<T>, bytes?: number) {
    this.#type = type;
    this.#columns = type.columns.map(({ name, oid }) => ({ name, oid, valueIn: columns[name] ?? nothing }));
    this.#bytes = new ByteWriter(bytes);
    this.clear();
  }

  get count(): number {
    return this.#rows;
  }

  /** Begins again, over what `toBuffer` answered. */
  clear(): void {
    this.#bytes.clear();
    this.#bytes.int32(ONE_DIMENSION);
    this.#bytes.int32(NO_NULLS);
    this.#bytes.int32(this.#type.oid);
    this.#countAt = this.#bytes.int32(0);
    this.#bytes.int32(FIRST);
    this.#rows = 0;
  }

  /** @throws RangeError where a value is none of its column's type */
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

  /** To be given to a query as a value, which must have been sent before this is cleared. */
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
