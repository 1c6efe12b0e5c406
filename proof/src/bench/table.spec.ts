import { describe, expect, it } from '@jest/globals';
import type { Figure } from './scenario.ts';
import { describe as shown } from './table.ts';

const figure: Figure = {
  scenario: 'T1',
  variant: 'batch 100',
  shape: 'distributed',
  unit: 'event',
  count: 10_000,
  seconds: 4,
  cpuMicros: { ingest: 10, postgres: 20.5, generator: 3 },
  latency: { post: { count: 100, p50: 1.25, p95: 2, p99: 3, max: 4 } },
  rssBytes: { ingest: 120_000_000 },
  checks: [{ name: 'rows stored', expected: 10_000, actual: 10_000 }],
  notes: {},
};

describe('the table', () => {
  it('shows the rate, CPU without the generator, latencies and memory', () => {
    const text = shown(figure);
    expect(text).toContain('2,500 events/s');
    expect(text).toContain('CPU µs/event: 30.5 = ingest 10.0 + postgres 20.5; generator 3.0');
    expect(text).toContain('post p50 1.3 · p95 2.0 · p99 3.0 ms');
    expect(text).toContain('ingest 120');
  });

  it('shows short latencies in microseconds', () => {
    const text = shown({ ...figure, latency: { check: { count: 9, p50: 0.0004, p95: 0.001, p99: 0.0023, max: 1 } } });
    expect(text).toContain('check p50 0.400 · p95 1.000 · p99 2.300 µs (9)');
  });

  it('shows the problem instead of numbers if a check failed', () => {
    const text = shown({ ...figure, checks: [{ name: 'rows stored', expected: 10_000, actual: 9_999 }] });
    expect(text).toContain('FAILED');
    expect(text).toContain('rows stored: expected 10000, found 9999');
    expect(text).not.toContain('events/s');
  });
});
