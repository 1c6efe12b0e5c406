import type { Pool } from 'pg';

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
