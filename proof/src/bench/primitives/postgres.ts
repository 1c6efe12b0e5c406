import pg from 'pg';
import { usageOf } from '../../harness/process-usage.ts';
import type { Primitive } from './primitive.ts';

const ROWS = 500;
const TABLE = `create table bench_primitives (
  tenant_id text not null, id uuid not null, run_id text not null, ts timestamptz not null, payload jsonb not null,
  primary key (tenant_id, id, ts))`;
const INSERT = `insert into bench_primitives
  select * from jsonb_to_recordset($1::jsonb) as b(tenant_id text, id uuid, run_id text, ts timestamptz, payload jsonb)
  on conflict do nothing`;

/** Inserts rows with a payload of 228 bytes in idempotent statements of 500, into a table with three indexes. */
export async function measurePostgres(url: string, milliseconds: number): Promise<readonly Primitive[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(TABLE);
    await client.query('create index on bench_primitives (tenant_id, ts)');
    await client.query('create index on bench_primitives (run_id, ts)');
    const [{ pid } = { pid: 0 }] = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
    const write = (statement: number) => client.query({ name: 'bench', text: INSERT, values: [rows(statement)] });
    let statement = 0;
    for (; statement < 5; statement++) await write(statement);
    const before = usageOf(pid).cpuMicros;
    const first = statement;
    for (const until = performance.now() + milliseconds; performance.now() < until; statement++) await write(statement);
    const here = (usageOf(pid).cpuMicros - before) / ((statement - first) * ROWS);
    return [{ name: 'Postgres, one row of 500', unit: 'CPU µs', here, there: 8.1 }];
  } finally {
    await client.query('drop table if exists bench_primitives');
    await client.end();
  }
}

function rows(statement: number): string {
  return JSON.stringify(
    Array.from({ length: ROWS }, (_, i) => ({
      tenant_id: 'bench',
      id: `0198f2c4-7b1a-7c3e-${(0x8000 + (statement % 0x3fff)).toString(16)}-${(statement * ROWS + i).toString(16).padStart(12, '0')}`,
      run_id: `run-${i % 20}`,
      ts: new Date(1_767_225_600_000 + statement * ROWS + i).toISOString(),
      payload: { toolName: 'search_documents', durationMs: 41, text: 'x'.repeat(170) },
    })),
  );
}
