import { buffer } from 'node:stream/consumers';
import { encodeCursor } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { answerOf, pageOf, writePage } from './page.ts';

interface Row {
  readonly id: string;
  readonly text: string;
}

const AT = '2026-03-01T12:00:00.000Z';
const positionOf = ({ id }: Row) => ({ at: AT, id });
const shape = ({ id, text }: Row) => ({ id, body: text });

/** Yields the rows in groups of ten. */
async function* groupsOf(rows: readonly Row[]) {
  for (let from = 0; from <= rows.length; from += 10) yield rows.slice(from, from + 10);
}

async function answered(rows: readonly Row[], limit: number) {
  const { items, ...rest } = await writePage('rows', groupsOf(rows.slice(0, limit + 1)), limit, positionOf, shape);
  const answer = answerOf('rows', items, { ...rest, total: rows.length });
  const bytes = await buffer(answer.getStream());
  expect(answer.getHeaders()).toMatchObject({ type: 'application/json; charset=utf-8', length: bytes.length });
  return { pieces: items.length, body: JSON.parse(bytes.toString()) };
}

describe('a page that is serialized while it is read', () => {
  it('equals a page that is read as a whole', async () => {
    const someRows = fc.array(fc.record({ id: fc.string(), text: fc.string({ unit: 'binary', maxLength: 50 }) }));
    await fc.assert(
      fc.asyncProperty(someRows, fc.integer({ min: 1, max: 12 }), async (rows, limit) => {
        const { items, ...rest } = pageOf('rows', rows, limit, positionOf, shape);

        const { body } = await answered(rows, limit);
        expect(body).toEqual({ rows: items, ...rest, total: rows.length });
      }),
    );
  });

  it('consists of several chunks if it is long', async () => {
    const rows = Array.from({ length: 31 }, (_, i) => ({ id: `${i}`, text: 'é' }));

    const { pieces, body } = await answered(rows, 30);
    expect(pieces).toBe(3);
    expect(body.rows).toEqual(rows.slice(0, 30).map(shape));
    expect(body).toMatchObject({ hasMore: true, nextCursor: encodeCursor('rows', { at: AT, id: '29' }) });
  });
});
