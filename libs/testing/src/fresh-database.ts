import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import pg from 'pg';
import { CONTROL_PORT_VARIABLE } from './servers/shared-postgres.ts';

export interface FreshDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

const NAME_BYTES = 6;

/** Creates an empty database on the shared Postgres of the test run and calls `migrate` with its URL. */
export async function freshDatabase(
  options: { migrate?: (url: string) => Promise<unknown> } = {},
): Promise<FreshDatabase> {
  const server = await sharedServer();
  const name = `test_${randomBytes(NAME_BYTES).toString('hex')}`;
  await onServer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  await options.migrate?.(url.href);
  return { url: url.href, drop: () => onServer(server, `drop database if exists ${name} with (force)`) };
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function sharedServer(): Promise<string> {
  const port = process.env[CONTROL_PORT_VARIABLE];
  if (!port)
    throw new Error(`${CONTROL_PORT_VARIABLE} is not set: run the tests through the repository's jest.config.mjs`);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect({ port: Number(port), host: '127.0.0.1' });
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
    });
    socket.once('error', reject);
    socket.once('end', () => {
      const answer = JSON.parse(text) as { url?: string; error?: string };
      if (answer.url) resolve(answer.url);
      else reject(new Error(answer.error));
    });
  });
}

/**
 * Inserts recorded rows into the database at `url`. The file contains `{ table: [row, …] }` in an order that satisfies
 * foreign keys.
 */
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
