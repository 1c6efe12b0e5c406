import { describe, expect, it } from '@jest/globals';
import { matchesAll, readStoredMatchers } from './matchers.ts';
import { anAlert } from './routing.testing.ts';
import { readStoredRouting } from './stored.ts';
import { findSuppression } from './suppress.ts';
import { findRoutes } from './tree.ts';

const labels = { kind: 'rule', severity: 'warn', agent: 'bot' };
/** A matcher that an older release accepted, or a newer one writes. */
const UNREADABLE = 'region=eu';

describe('a stored silence that cannot be read', () => {
  it.each([
    ['one matcher is unknown', ['agent=bot', UNREADABLE]],
    ['a pattern is no longer accepted', ['agent=~((.{50}){50}){50}']],
    ['every matcher is unknown', [UNREADABLE]],
    ['the list is empty', []],
    ['a matcher is no text', ['agent=bot', 7]],
    ['there is no list', { agent: 'bot' }],
    ['there is nothing', null],
  ])('silences nothing and says why: %s', (_what, stored) => {
    const { matchers, messages } = readStoredMatchers(stored);
    expect(matchesAll(matchers, labels)).toBe(false);
    expect(messages).not.toEqual([]);
  });

  it('does not hide that another one is in force', () => {
    const silence = (id: string, stored: unknown) => ({
      ...{ id, matchers: readStoredMatchers(stored).matchers, startsAtMs: 0, endsAtMs: 2 },
    });
    const { tree } = readStoredRouting({ routes: [{ id: 'all' }] }, []);
    const silences = [silence('broken', [UNREADABLE]), silence('good', ['agent=bot'])];
    const state = { tree, silences, firing: [], nowMs: 1 };
    expect(findSuppression(anAlert(labels), { mute: [] }, state)).toMatchObject({ by: 'good' });
  });
});

describe('stored routes that cannot be read in part', () => {
  it('let the parent take the alerts of the route, and name the route', () => {
    const { tree, problems, isDefault } = readStoredRouting(
      {
        routes: [
          { id: 'all', channels: ['ops'] },
          { id: 'eu', under: 'all', match: [UNREADABLE], channels: ['eu'] },
        ],
      },
      ['ops', 'eu'],
    );
    expect(findRoutes(tree, labels).map(({ id }) => id)).toEqual(['all']);
    expect(problems).toEqual([{ path: 'routes[1].match', message: expect.stringContaining('names no label') }]);
    expect(isDefault).toBe(false);
  });

  it('inhibit nothing by a line that cannot be read', () => {
    const line = { source: ['severity=critical', UNREADABLE], target: ['severity=warn'] };
    const { tree } = readStoredRouting({ routes: [{ id: 'all' }], inhibit: [line] }, []);
    const firing = [anAlert({ severity: 'critical' }, 'source')];
    expect(findSuppression(anAlert(labels), { mute: [] }, { tree, silences: [], firing, nowMs: 1 })).toBeUndefined();
  });

  it('do not take a channel that is gone for a fault', () => {
    const { problems } = readStoredRouting({ routes: [{ id: 'all', channels: ['gone'] }] }, []);
    expect(problems).toEqual([]);
  });
});

describe('stored routes that cannot be read at all', () => {
  const routed = (body: unknown, channels = ['ops', 'spare']) => {
    const { tree, problems, isDefault } = readStoredRouting(body, channels);
    expect(problems).not.toEqual([]);
    expect(isDefault).toBe(true);
    return findRoutes(tree, labels).flatMap((route) => route.channels);
  };

  it('lead every alert to the channels of the first route', () => {
    expect(routed({ routes: [{ id: 'all', channels: ['spare'], plan: 'of a later release' }] })).toEqual(['spare']);
  });

  it.each([
    ['there is no route', { routes: [] }],
    ['its channel is gone or off', { routes: [{ id: 'all', channels: ['gone'] }], newer: 1 }],
    ['its channels are no list', { routes: [{ id: 'all', channels: 'ops' }] }],
    ['it names none', { routes: [{ id: 'all', channels: [] }], newer: 1 }],
    ['the document is a text', 'routes'],
    ['the document is empty', null],
  ])('lead it to every channel if the first route cannot be read: %s', (_what, body) => {
    expect(routed(body)).toEqual(['ops', 'spare']);
  });

  it('lead to no more channels than a route may name', () => {
    const many = Array.from({ length: 50 }, (_, n) => `channel-${n}`);
    expect(routed(null, many)).toHaveLength(20);
  });
});
