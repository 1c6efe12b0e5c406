import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import {
  CommaList,
  consistent,
  encodeCursor,
  InstantParameter,
  paging,
  SeverityList,
  timeRange,
  wholeNumber,
  withEnds,
} from './parameters.ts';

describe('whole number', () => {
  it('parses text within its range', () => {
    expect(wholeNumber(1, 200, 50).parse('200')).toBe(200);
  });

  it('has a default', () => {
    expect(wholeNumber(1, 200, 50).parse(undefined)).toBe(50);
  });

  it.each(['abc', '', '0', '201', '-1', '1.5', '1e2', '99999999999999999999', ['1', '2']])('refuses %p', (text) => {
    const parsed = wholeNumber(1, 200, 50).safeParse(text);
    expect(parsed.error?.issues[0]?.message).toBe('must be a whole number from 1 to 200');
  });
});

describe('instant', () => {
  it.each([
    ['2026-11-21T10:00:00Z', '2026-11-21T10:00:00.000Z'],
    ['2026-11-21T10:00:00+02:00', '2026-11-21T08:00:00.000Z'],
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
  ])('reads %s', (text, instant) => {
    expect(InstantParameter.parse(text)).toBe(instant);
  });

  it.each(['now', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59-12:00', '2026-02-30T00:00:00Z', '-271821-04-20'])(
    'refuses %s',
    (text) => {
      expect(InstantParameter.safeParse(text).success).toBe(false);
    },
  );

  it('returns only text that Postgres can parse, for any input', () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true }), (date) => {
        const parsed = InstantParameter.safeParse(date.toISOString());
        if (parsed.success) expect(parsed.data).toMatch(/^(19[7-9]\d|[2-9]\d{3})-/);
      }),
    );
  });
});

describe('lists', () => {
  it('trims items and drops empty ones', () => {
    expect(CommaList.parse(' a, b,,')).toEqual(['a', 'b']);
  });

  it('rejects control characters, which the database cannot store', () => {
    expect(CommaList.safeParse('a\u0000b').success).toBe(false);
  });

  it('read "warning" as "warn"', () => {
    expect(SeverityList.parse('warning,error')).toEqual(['warn', 'error']);
  });

  it('names the valid severities', () => {
    expect(SeverityList.safeParse('fatal').error?.issues[0]?.message).toContain('debug, info, warn');
  });
});

describe('parameters together', () => {
  const schema = consistent(z.object({ ...timeRange, ...paging('things', 100) }));

  it('rejects a range that ends before it starts', () => {
    expect(schema.safeParse({ from: '2026-11-21', to: '2026-11-20' }).error?.issues[0]?.path).toEqual(['from']);
  });

  it('rejects a range given by all three parameters, or by an invalid word', () => {
    const from = { from: '2026-11-20', range: '24h' };
    expect(schema.safeParse(from).success).toBe(true);
    expect(schema.safeParse({ ...from, to: '2026-11-21' }).error?.issues[0]?.path).toEqual(['range']);
    expect(schema.safeParse({ range: '7 days' }).error?.issues[0]?.message).toContain('24h');
  });

  it('rejects a cursor with an offset', () => {
    const cursor = encodeCursor('things', { at: '2026-11-21T10:00:00.000Z', id: 'a' });
    expect(schema.safeParse({ cursor, offset: '10' }).error?.issues[0]?.path).toEqual(['offset']);
    expect(schema.safeParse({ cursor }).success).toBe(true);
  });
});

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
