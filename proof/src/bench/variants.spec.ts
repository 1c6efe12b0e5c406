import { describe, expect, it } from '@jest/globals';
import type { Figure } from './scenario.ts';
import { comparison } from './variants.ts';

function round(eventsPerSecond: number, evaluator: number): Figure {
  return {
    scenario: 'rules',
    variant: 'some',
    shape: 'distributed',
    unit: 'event',
    count: eventsPerSecond,
    seconds: 1,
    cpuMicros: { 'guardrail-evaluator': evaluator, ingest: 10, generator: 1_000 },
    latency: {},
    rssBytes: {},
    checks: [],
    notes: {},
  };
}

describe('comparison of variants', () => {
  it('is the median of the rounds, each compared with the baseline of the same round', () => {
    const [others, ours] = [
      [round(100, 10), round(50, 20), round(200, 10)],
      [round(90, 20), round(50, 20), round(20, 10)],
    ];
    expect(comparison(ours, 'no rules', others)).toEqual({
      'times the throughput of no rules': '0.90',
      'its CPU': '1.00',
      'its evaluator': '1.00',
    });
  });

  it('is empty without a baseline', () => {
    expect(comparison([round(1, 1)], '', [])).toEqual({});
  });
});
