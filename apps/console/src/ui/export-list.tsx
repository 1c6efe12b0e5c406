import { useState } from 'react';
import { count, csvLine } from '../figures/figures.ts';
import { Menu } from './menu.tsx';
import { saveFile } from './save-file.ts';
import { toast, toastError } from './toast.tsx';

/** A list that can be exported: its pages with the filter of the page, and its columns. */
export interface Exported<T> {
  readonly name: string;
  readonly read: (cursor: string | undefined) => Promise<{ readonly rows: readonly T[]; readonly nextCursor?: string }>;
  readonly columns: Readonly<Record<string, (row: T) => unknown>>;
}

const MAX_ROWS = 50_000;
const FORMATS = [
  { id: 'csv', name: 'CSV' },
  { id: 'ndjson', name: 'NDJSON' },
] as const;
type Format = (typeof FORMATS)[number]['id'];

/** Downloads the whole list, page by page, as it is filtered. */
export function ExportMenu<T>({ list }: { list: Exported<T> }) {
  const [done, setDone] = useState<number>();
  const run = async (format: string) => {
    setDone(0);
    try {
      const { rows, complete } = await download(list, format as Format, setDone);
      toast(
        complete
          ? `${count(rows)} rows exported`
          : `The first ${count(rows)} rows exported; narrow the filter for the rest`,
      );
    } catch (error) {
      toastError('The export failed', error);
    } finally {
      setDone(undefined);
    }
  };
  if (done !== undefined) {
    return (
      <span className="t3 num" role="status">
        Exporting {count(done)}…
      </span>
    );
  }
  return (
    <Menu label="Export" className="chip not-s" choices={FORMATS} onChoose={(format) => void run(format)}>
      Export
    </Menu>
  );
}

async function download<T>({ name, read, columns }: Exported<T>, format: Format, onProgress: (rows: number) => void) {
  const parts: string[] = format === 'csv' ? [csvLine(Object.keys(columns))] : [];
  let cursor: string | undefined;
  let rows = 0;
  do {
    const page = await read(cursor);
    for (const row of page.rows)
      parts.push(
        format === 'csv' ? csvLine(Object.values(columns).map((value) => value(row))) : `${JSON.stringify(row)}\n`,
      );
    rows += page.rows.length;
    cursor = page.nextCursor;
    onProgress(rows);
  } while (cursor !== undefined && rows < MAX_ROWS);
  const saved = `${name}-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.${format}`;
  saveFile(saved, format === 'csv' ? 'text/csv;charset=utf-8' : 'application/x-ndjson', parts);
  return { rows, complete: cursor === undefined };
}
