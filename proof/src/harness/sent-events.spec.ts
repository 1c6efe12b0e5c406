import { describe, expect, it } from '@jest/globals';
import { seededRandom } from './seeded-random.ts';
import { modelEvent, toolEvent } from './sent-events.ts';

function sent(count: number) {
  const random = seededRandom(7);
  return Array.from({ length: count }, (_, i) => [toolEvent(1, i, random), modelEvent(1, i, random)]).flat();
}

const values = (field: string) => sent(1_000).flatMap(({ payload }) => payload[field] ?? []) as number[];

describe('the events of the load generator', () => {
  it('are the same for the same seed', () => {
    expect(sent(50)).toEqual(sent(50));
  });

  it.each(['durationMs', 'latencyMs', 'costUsd'])('have hundreds of different values of %s', (field) => {
    expect(new Set(values(field)).size).toBeGreaterThan(500);
    expect(Math.min(...values(field))).toBeGreaterThan(0);
  });

  it('have a long tail of a few times the median', () => {
    const sorted = values('latencyMs').sort((a, b) => a - b);
    const [p50, p90, p95] = [0.5, 0.9, 0.95].map((share) => sorted[sorted.length * share] ?? 0);
    expect(p50).toBeGreaterThan(600);
    expect(p50).toBeLessThan(800);
    expect(p90).toBeGreaterThan(1_800);
    expect(p95).toBeLessThan(4_500);
  });
});
