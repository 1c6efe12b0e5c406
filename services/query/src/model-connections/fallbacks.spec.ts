import type { Problem } from '@agentlens/contracts';
import { ProblemException } from '@agentlens/platform';
import { describe, expect, it } from '@jest/globals';
import { type ConnectionLink, requireFallback, requireUnused } from './fallbacks.ts';

const LINKS: readonly ConnectionLink[] = [
  { name: 'a', dialect: 'openai', fallback: 'b' },
  { name: 'b', dialect: 'openai', fallback: 'c' },
  { name: 'c', dialect: 'openai', fallback: null },
  { name: 'claude', dialect: 'anthropic', fallback: null },
];

/** The details of the problem that the work is refused with. */
function detailsOf(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    if (!(error instanceof ProblemException)) throw error;
    return (error.getResponse() as Problem).details;
  }
  return undefined;
}

describe('the fallback of a connection', () => {
  it.each([
    ['another one of its dialect', 'new', 'openai', 'a'],
    ['the same as before', 'a', 'openai', 'b'],
    ['none', 'a', 'openai', undefined],
  ] as const)('may be %s', (_what, name, dialect, fallback) => {
    expect(detailsOf(() => requireFallback(name, { dialect, fallback }, LINKS))).toBeUndefined();
  });

  it.each([
    ['itself', 'c', 'openai', 'c', 'must not lead back to this connection: c → c'],
    ['itself, when it is new', 'new', 'openai', 'new', 'must not lead back to this connection: new → new'],
    ['one that leads back', 'c', 'openai', 'a', 'must not lead back to this connection: c → a → b → c'],
    ['one that is not there', 'c', 'openai', 'other', 'there is no connection of that name; create it first'],
    ['one of another dialect', 'c', 'openai', 'claude', 'must speak the dialect openai; "claude" speaks anthropic'],
  ] as const)('cannot be %s', (_what, name, dialect, fallback, message) => {
    expect(detailsOf(() => requireFallback(name, { dialect, fallback }, LINKS))).toEqual([
      { path: 'fallback', message },
    ]);
  });

  it('keeps its dialect and cannot be deleted', () => {
    expect(detailsOf(() => requireFallback('b', { dialect: 'anthropic', fallback: undefined }, LINKS))).toEqual([
      { path: 'dialect', message: 'must stay the same: this connection is the fallback of "a"' },
    ]);
    expect(() => requireUnused('b', LINKS)).toThrow('The connection is the fallback of "a"');
    expect(() => requireUnused('a', LINKS)).not.toThrow();
  });
});
