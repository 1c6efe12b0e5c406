import { Readable } from 'node:stream';
import type { Position } from '@agentlens/operations';
import { StreamableFile } from '@nestjs/common';
import { endOfPage, type PageEnd } from './page.ts';

/** A page whose items are already JSON. */
export interface WrittenPage extends PageEnd {
  /** The contents of the JSON array, without its brackets. */
  readonly items: readonly Buffer[];
}

/**
 * Makes a page from `limit + 1` rows; the extra row only shows that more rows exist. Serializes rows as they are read,
 * so that a long page is never in memory as rows or objects all at once.
 */
export async function writePage<Row>(
  list: string,
  groups: AsyncIterable<readonly Row[]>,
  limit: number,
  positionOf: (row: Row) => Position,
  shape: (row: Row) => object,
): Promise<WrittenPage> {
  const items: Buffer[] = [];
  let read = 0;
  let last: Row | undefined;
  for await (const rows of groups) {
    const shown = rows.slice(0, limit - read);
    read += rows.length;
    if (shown.length === 0) continue;
    const text = JSON.stringify(shown.map(shape)).slice(1, -1);
    items.push(Buffer.from(items.length > 0 ? `,${text}` : text));
    last = shown.at(-1);
  }
  return { items, ...endOfPage(list, read > limit, last, positionOf) };
}

/** Returns the response `{ [name]: items, ...rest }`. `rest` has at least one member. */
export function answerOf(name: string, items: readonly Buffer[], rest: object): StreamableFile {
  const pieces = [
    Buffer.from(`{${JSON.stringify(name)}:[`),
    ...items,
    Buffer.from(`],${JSON.stringify(rest).slice(1)}`),
  ];
  return new StreamableFile(Readable.from(pieces, { objectMode: false }), {
    type: 'application/json; charset=utf-8',
    length: pieces.reduce((sum, { length }) => sum + length, 0),
  });
}
