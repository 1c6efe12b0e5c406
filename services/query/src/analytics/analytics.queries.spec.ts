import { AnalyticsQuery } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import { analyticsRange } from './analytics.queries.ts';

const now = Date.parse('2026-11-21T10:00:00.000Z');
const rangeOf = (query: object) => analyticsRange(AnalyticsQuery.parse(query), now);

describe('analytics range', () => {
  it('defaults to the last thirty days', () => {
    expect(rangeOf({})).toEqual({ from: '2026-10-22T10:00:00.000Z', to: '2026-11-21T10:00:00.000Z' });
  });

  it('counts back from "to"', () => {
    expect(rangeOf({ to: '2026-11-10', range: '2d' }).from).toBe('2026-11-08T00:00:00.000Z');
  });

  it('counts forward from "from"', () => {
    expect(rangeOf({ from: '2026-11-01', range: '2d' })).toEqual({
      from: '2026-11-01T00:00:00.000Z',
      to: '2026-11-03T00:00:00.000Z',
    });
    expect(AnalyticsQuery.safeParse({ from: '2026-11-01', to: '2026-11-03', range: '2d' }).success).toBe(false);
  });

  it('rejects a range with too many hours and explains how to narrow it', () => {
    expect(() => rangeOf({ granularity: 'hour', range: '32d' })).toThrow(
      expect.objectContaining({
        response: expect.objectContaining({
          details: [{ path: 'range', message: expect.stringContaining('coarser') }],
        }),
      }),
    );
  });

  it('rejects a start after now', () => {
    expect(() => rangeOf({ from: '2027-01-01' })).toThrow('Validation failed');
  });

  it('does not start before 1970', () => {
    expect(rangeOf({ to: '1970-01-02', granularity: 'day' }).from).toBe('1970-01-01T00:00:00.000Z');
  });
});
