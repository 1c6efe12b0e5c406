import { describe, expect, it } from '@jest/globals';
import { countTileHashes, parseTilePath, writeEntryBundle } from './tiles.ts';

describe('the paths of C2SP tlog-tiles', () => {
  it.each([
    ['tile/0/000', { level: 0, n: 0, width: 256 }],
    ['tile/1/x001/x234/067', { level: 1, n: 1_234_067, width: 256 }],
    ['tile/0/273.p/112', { level: 0, n: 273, width: 112 }],
    ['tile/entries/x001/000.p/1', { level: 'entries', n: 1_000, width: 1 }],
    ['tile/63/000', { level: 63, n: 0, width: 256 }],
  ])('%s is read', (path, resource) => {
    expect(parseTilePath(path)).toEqual(resource);
  });

  it.each([
    ...['tile/00/000', 'tile/64/000', 'tile/-1/000', 'tile/0/0', 'tile/0/0000', 'tile/0/001/234', 'tile/0/x001'],
    ...['tile/0/x000/001', 'tile/0/000.p/0', 'tile/0/000.p/01', 'tile/0/000.p/256', 'tile/0/000.p', 'tile/0/000/'],
    ...['tile/data/000', 'tiles/0/000', '', 'tile/0/x001/x234/x067/x890/001', 'tile/0/000%2f'],
  ])('%s is refused', (path) => {
    expect(parseTilePath(path)).toBeUndefined();
  });

  it('have as many hashes as the example of the specification says', () => {
    const widths = (level: number, ...tiles: number[]) => tiles.map((n) => countTileHashes(level, n, 70_000));
    expect(widths(0, 0, 272, 273, 274)).toEqual([256, 256, 112, 0]);
    expect(widths(1, 0, 1, 2)).toEqual([256, 17, 0]);
    expect(widths(2, 0, 1)).toEqual([1, 0]);
    expect([countTileHashes(0, 0, 256), countTileHashes(1, 0, 256)]).toEqual([256, 1]);
  });
});

describe('an entry bundle', () => {
  it('has each leaf after its length', () => {
    expect(writeEntryBundle(['ab', 'é']).toString('hex')).toBe('00026162' + '0002c3a9');
    expect(() => writeEntryBundle(['x'.repeat(65_536)])).toThrow('does not fit');
  });
});
