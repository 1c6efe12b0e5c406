import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError } from '../../errors.ts';
import type { Deployment } from './deployment.ts';

const FORMAT = 1;
export const FILES = { database: 'postgres.dump', streams: 'streams.bin', key: 'secret_key' } as const;
const MANIFEST = 'backup.json';

export interface Manifest {
  readonly format: typeof FORMAT;
  /** The version of AgentLens that wrote the data. */
  readonly version: string;
  readonly createdAt: string;
  /** Rows of each table, counted before the dump. */
  readonly rows: Readonly<Record<string, number>>;
  /** SHA-256 of each file. */
  readonly files: Readonly<Record<string, string>>;
}

/** Counts every table without its partitions, which their parent counts. */
const COUNT_ROWS = `
  select c.relname, (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %I.%I', s.nspname, c.relname), false, true, '')))[1]
  from pg_class c join pg_namespace s on s.oid = c.relnamespace
  where c.relkind in ('r', 'p') and not c.relispartition and s.nspname = 'public'
  order by 1;
`;

export async function countRows(deployment: Deployment): Promise<Record<string, number>> {
  const lines = (await deployment.query(COUNT_ROWS)).trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split('|')).map(([table = '', rows]) => [table, Number(rows)]));
}

export async function writeManifest(
  folder: string,
  { version, createdAt, rows }: Pick<Manifest, 'version' | 'createdAt' | 'rows'>,
): Promise<Manifest> {
  const files: Record<string, string> = {};
  for (const name of Object.values(FILES)) files[name] = await hashFile(join(folder, name));
  const manifest: Manifest = { format: FORMAT, version, createdAt, rows, files };
  await writeFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
  return manifest;
}

/** @throws CommandError unless the folder has a whole backup: the manifest is written last, and every file matches it */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch((error: Error) => {
    throw new CommandError(`${folder} has no ${MANIFEST}: ${error.message}`, { hint: 'Is the backup complete?' });
  });
  const manifest = JSON.parse(text) as Manifest;
  if (manifest.format !== FORMAT) {
    throw new CommandError(`${join(folder, MANIFEST)} has another format than this version reads`);
  }
  for (const [name, hash] of Object.entries(manifest.files)) {
    if ((await hashFile(join(folder, name))) !== hash) {
      throw new CommandError(`${join(folder, name)} is not the file of this backup: its SHA-256 differs`);
    }
  }
  return manifest;
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of createReadStream(path)) hash.update(part as Buffer);
  return hash.digest('hex');
}
