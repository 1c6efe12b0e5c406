import { describe, expect, it } from '@jest/globals';
import { nearestName, unknownName } from './nearest-name.ts';

const KNOWN = ['threshold', 'windowMinutes', 'minEvents', 'cooldownMinutes'];

describe('nearestName', () => {
  it.each([
    ['treshold', 'threshold'],
    ['window_minutes', 'windowMinutes'],
    ['WINDOWMINUTES', 'windowMinutes'],
    ['cooldown', 'cooldownMinutes'],
    ['minEvent', 'minEvents'],
  ])('suggests the nearest name for %s: %s', (typed, meant) => expect(nearestName(typed, KNOWN)).toBe(meant));

  it('does not suggest a short name that the typed one contains by chance', () => {
    expect(nearestName('tool_call', ['all', 'tool_name', 'any'])).toBe('tool_name');
  });

  it('returns undefined without known names', () => expect(nearestName('x', [])).toBeUndefined());
});

describe('unknownName', () => {
  it('suggests the nearest name and lists the known ones', () => {
    expect(unknownName('key', 'treshold', ['threshold', 'minEvents'])).toBe(
      'unknown key "treshold"; did you mean "threshold"? Known: threshold, minEvents',
    );
  });

  it('does not echo a long text', () => {
    expect(unknownName('key', 'x'.repeat(10_000), ['a']).length).toBeLessThan(150);
  });
});
