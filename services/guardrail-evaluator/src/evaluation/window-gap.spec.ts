import { MINUTE_MS } from '@agentlens/contracts';
import type { Series } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import { WindowGap } from './window-gap.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');
const sliding = (minutes: number): Series => ({ metric: 'm', span: { kind: 'sliding', minutes }, shape: 'sum' });

describe('WindowGap', () => {
  it('is closed while everything is counted', () => {
    expect(new WindowGap().reason([sliding(1_440)], NOW_MS)).toBeNull();
  });

  it('affects windows that reach back beyond what is counted, until they have moved on', () => {
    const gap = new WindowGap();
    gap.countedSince(NOW_MS - 20 * MINUTE_MS);
    expect(gap.reason([sliding(10)], NOW_MS)).toBeNull();
    expect(gap.reason([sliding(10), sliding(60)], NOW_MS)).toContain('degraded until 2026-03-01T12:40:00.000Z');
    expect(gap.reason([sliding(60)], NOW_MS + 41 * MINUTE_MS)).toBeNull();
    expect(gap.reason([{ ...sliding(1), span: { kind: 'day', day: '2026-03-01' } }], NOW_MS)).not.toBeNull();
    expect(gap.reason([{ ...sliding(1), span: { kind: 'day', day: '2026-03-02' } }], NOW_MS)).toBeNull();
  });
});
