import { describe, expect, it } from '@jest/globals';
import { withEnds } from './time-range.ts';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');

describe('the ends of a range', () => {
  it.each([
    [{}, {}],
    [{ from: '2026-11-01T00:00:00.000Z' }, { from: '2026-11-01T00:00:00.000Z' }],
    [{ range: '24h' }, { range: '24h', from: '2026-11-20T10:00:00.000Z' }],
    [
      { range: '2d', to: '2026-11-10T00:00:00.000Z' },
      { range: '2d', from: '2026-11-08T00:00:00.000Z', to: '2026-11-10T00:00:00.000Z' },
    ],
    [
      { range: '1w', from: '2026-11-01T00:00:00.000Z' },
      { range: '1w', from: '2026-11-01T00:00:00.000Z', to: '2026-11-08T00:00:00.000Z' },
    ],
    [{ range: '9999w' }, { range: '9999w', from: '1970-01-01T00:00:00.000Z' }],
    [
      { range: '9999w', from: '9999-01-01T00:00:00.000Z' },
      { range: '9999w', from: '9999-01-01T00:00:00.000Z', to: '9999-12-31T23:59:59.999Z' },
    ],
  ])('of %j are %j', (query, expected) => {
    expect(withEnds(query, NOW)).toEqual(expected);
  });
});
