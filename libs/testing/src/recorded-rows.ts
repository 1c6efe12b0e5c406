import { readFileSync } from 'node:fs';
import pg from 'pg';

/** Writes recorded rows into the database at `url`; the file holds `{ table: [row, …] }`, in an order that foreign keys allow. */
export async function insertRecordedRows(url: string, file: URL): Promise<void> {
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, object[]>>;
  const owner = new pg.Client({ connectionString: url });
  owner.on('error', () => undefined);
  await owner.connect();
  try {
    for (const [table, rows] of Object.entries(recorded)) {
      await owner.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
        JSON.stringify(rows),
      ]);
    }
  } finally {
    await owner.end();
  }
}
