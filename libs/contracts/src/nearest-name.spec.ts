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
  ])('takes %s for %s', (typed, meant) => expect(nearestName(typed, KNOWN)).toBe(meant));

  it('knows nothing where nothing is known', () => expect(nearestName('x', [])).toBeUndefined());
});

describe('unknownName', () => {
  it('says what to write instead and what there is', () => {
    expect(unknownName('key', 'treshold', ['threshold', 'minEvents'])).toBe(
      'unknown key "treshold"; did you mean "threshold"? Known: threshold, minEvents',
    );
  });

  it('does not repeat a long text back', () => {
    expect(unknownName('key', 'x'.repeat(10_000), ['a']).length).toBeLessThan(150);
  });
});
