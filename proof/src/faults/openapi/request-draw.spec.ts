import { describe, expect, it } from '@jest/globals';
import { KnownValues } from './request-draw.ts';

describe('known values', () => {
  it('include ids from a list, for all paths below that list', () => {
    const known = new KnownValues();
    known.learn('/things', { things: [{ id: 'a' }, { id: 'b' }] });
    known.learn('/things/{id}', { id: 'c' });
    expect(known.of('/things/{id}/parts', 'id')).toEqual(['a', 'b', 'c']);
    expect(known.of('/others/{id}', 'id')).toEqual([]);
  });

  it('include ids with a unique name, from any response', () => {
    const known = new KnownValues();
    known.learn('/things', { things: [{ owner: { agentId: 'x' }, name: 'n' }] });
    expect(known.of('/others', 'agentId')).toEqual(['x']);
    expect(known.of('/things', 'name')).toEqual([]);
  });

  it('include cursors, for the list they belong to', () => {
    const known = new KnownValues();
    known.learn('/things', { things: [], nextCursor: 'p2' });
    known.learn('/news', { next: '7', etag: '"1"' });
    expect(known.of('/things', 'cursor')).toEqual(['p2']);
    expect(known.of('/others', 'cursor')).toEqual([]);
    expect(known.of('/news', 'after')).toEqual(['7']);
    expect(known.of('/news', 'If-None-Match')).toEqual(['"1"']);
  });

  it('do not include names that every object has', () => {
    const known = new KnownValues();
    known.learn('/things', { constructor: 'x', toString: 'y' });
    expect(known.of('/things', 'constructor')).toEqual([]);
  });

  it('are limited to the newest few, each once', () => {
    const known = new KnownValues();
    for (let serial = 0; serial < 100; serial++) known.learn('/things', { id: `id-${serial}` });
    known.learn('/things', { id: 'id-99' });
    expect(known.of('/things', 'id')).toHaveLength(20);
    expect(known.of('/things', 'id').at(-1)).toBe('id-99');
  });
});
