import { ALERT_LABELS, type AlertLabels, RoutingDocument } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseMatchers } from './matchers.ts';
import { aDocument, aTree } from './routing.testing.ts';
import { findRoutes, pickGroup, type RouteNode, readRouting } from './tree.ts';

const labels: AlertLabels = { kind: 'rule', severity: 'critical', agent: 'billing-1', team: 'finance' };
const taken = (document: object, of: AlertLabels = labels) => findRoutes(aTree(document), of).map(({ id }) => id);
const root = { id: 'all', channels: ['ops'] };

describe('matchers', () => {
  it.each([
    ['severity=critical', true],
    ['severity = "critical"', true],
    ['severity!=critical', false],
    ['agent=~billing-.*', true],
    ['agent=~billing', false],
    ['agent!~billing', true],
    ['severity=~warn|critical', true],
    ['tool=', true],
    ['tool!=', false],
    ['tool=~.*', true],
  ])('%s', (text, expected) => {
    const { matchers, messages } = parseMatchers([text]);
    expect(messages).toEqual([]);
    expect(matchers[0]?.matches(labels)).toBe(expected);
  });

  it.each([
    ['=critical', 'has no operator'],
    ['severity', 'has no operator'],
    ['severty=critical', 'names no label'],
    ['agent=~(', 'cannot be read'],
    ['agent=~(?=x)', 'cannot be read'],
    [`agent=~${'x'.repeat(201)}`, 'over 200'],
    ['agent=~x{1000}y{1000}z{1000}', 'repeats too much'],
  ])('%s is refused: it %s', (text, message) => {
    expect(parseMatchers([text]).messages).toEqual([expect.stringContaining(message)]);
  });
});

describe('the walk', () => {
  it('gives an alert that no child takes to the route itself', () => {
    expect(taken({ routes: [root, { id: 'warn', under: 'all', match: ['severity=warn'] }] })).toEqual(['all']);
  });

  it('stops at the first child that matches, unless that one continues', () => {
    const routes = (goesOn: boolean) => [
      root,
      { id: 'pay', under: 'all', match: ['team=finance'], continue: goesOn },
      { id: 'crit', under: 'all', match: ['severity=critical'] },
    ];
    expect(taken({ routes: routes(false) })).toEqual(['pay']);
    expect(taken({ routes: routes(true) })).toEqual(['pay', 'crit']);
  });

  it('goes deep first', () => {
    const routes = [
      root,
      { id: 'pay', under: 'all', match: ['team=finance'] },
      { id: 'pay-crit', under: 'pay', match: ['severity=critical'] },
    ];
    expect(taken({ routes })).toEqual(['pay-crit']);
  });

  it('lets a child inherit what it does not set, but not the windows', () => {
    const tree = aTree({
      routes: [
        { ...root, groupBy: ['agent'], groupWait: '10s', repeat: null, mute: ['nights'] },
        { id: 'crit', under: 'all', match: ['severity=critical'], groupWait: '0s' },
      ],
      windows: { nights: { from: '22:00', to: '06:00' } },
    });
    expect(tree.routes.get('crit')).toMatchObject({
      ...{ channels: ['ops'], groupBy: ['agent'], groupWaitMs: 0, groupIntervalMs: 300_000, repeatMs: null, mute: [] },
    });
  });

  it('groups by the labels that the alert has', () => {
    const node = aTree({ routes: [{ ...root, groupBy: ['tool', 'agent'] }] }).root;
    expect(pickGroup(node, labels)).toEqual({ agent: 'billing-1' });
  });

  it('takes the same routes as a walk over the list, for any document', () => {
    const value = fc.constantFrom('a', 'b');
    const matcher = fc.tuple(fc.constantFrom(...ALERT_LABELS), fc.constantFrom('=', '!=', '=~'), value);
    const document = fc
      .array(
        fc.record({
          under: fc.nat(),
          match: fc.array(
            matcher.map((parts) => parts.join('')),
            { maxLength: 2 },
          ),
          continue: fc.boolean(),
        }),
        { maxLength: 8 },
      )
      .map((children) => {
        const depth = [1];
        return RoutingDocument.parse({
          routes: [
            { id: 'r0', channels: [] },
            ...children.map(({ under, ...rest }, n) => {
              const parents = depth.flatMap((level, at) => (level < 6 ? [at] : []));
              const parent = parents[under % parents.length] ?? 0;
              depth.push((depth[parent] ?? 1) + 1);
              return { id: `r${n + 1}`, under: `r${parent}`, ...rest };
            }),
          ],
        });
      });
    const labelled = fc.dictionary(fc.constantFrom(...ALERT_LABELS), value) as fc.Arbitrary<AlertLabels>;
    fc.assert(
      fc.property(document, labelled, (made, of) => {
        const { tree, problems } = readRouting(made, new Set());
        expect(problems).toEqual([]);
        expect(findRoutes(tree, of).map(({ id }) => id)).toEqual(naive(made, 'r0', of));
      }),
      { numRuns: 500 },
    );
  });
});

function naive(document: RoutingDocument, id: string, of: AlertLabels): string[] {
  const found: string[] = [];
  for (const child of document.routes.filter(({ under }) => under === id)) {
    const { matchers } = parseMatchers(child.match);
    if (!matchers.every((one) => one.matches(of))) continue;
    found.push(...naive(document, child.id, of));
    if (!child.continue) return found;
  }
  return found.length > 0 ? found : [id];
}

describe('a document', () => {
  const problems = (document: object) =>
    readRouting(aDocument(document), new Set(['ops'])).problems.map(({ path, message }) => `${path}: ${message}`);
  const inherited = (node: RouteNode) => node.path.join('/');

  it.each([
    ['an unknown channel', { routes: [{ id: 'all', channels: ['ops', 'boss'] }] }, 'no channel "boss"'],
    ['an id used twice', { routes: [root, { id: 'all', under: 'all' }] }, 'used twice'],
    ['a first route with matchers', { routes: [{ ...root, match: ['agent=x'] }] }, 'takes every alert'],
    [
      'a route that hangs on a later one',
      { routes: [root, { id: 'a', under: 'b' }, { id: 'b', under: 'all' }] },
      'before this one',
    ],
    ['a second root', { routes: [root, { id: 'a' }] }, 'before this one'],
    ['a matcher without a label', { routes: [root, { id: 'a', under: 'all', match: ['x=1'] }] }, 'names no label'],
    ['an unknown window', { routes: [{ ...root, mute: ['nights'] }] }, 'no window "nights"'],
    [
      'an unknown zone',
      { routes: [root], windows: { n: { from: '01:00', to: '02:00', zone: 'Mars/Base' } } },
      'no time zone',
    ],
    ['a repeat below the interval', { routes: [{ ...root, repeat: '10s' }] }, 'at least "groupInterval"'],
    ['no interval', { routes: [{ ...root, groupInterval: '0s' }] }, 'one second'],
    [
      'an inhibition that cannot be read',
      { routes: [root], inhibit: [{ source: ['x=1'], target: ['kind=rule'] }] },
      'no label',
    ],
  ])('with %s is refused', (_what, document, message) => {
    expect(problems(document)).toContainEqual(expect.stringContaining(message));
  });

  it('is at most six routes deep', () => {
    const deep = 'abcdefg'.split('').map((id, n, all) => (n === 0 ? { ...root, id } : { id, under: all[n - 1] }));
    expect(problems({ routes: deep.slice(0, 6) })).toEqual([]);
    expect(problems({ routes: deep })).toEqual([expect.stringContaining('6 deep')]);
    expect(inherited(aTree({ routes: deep.slice(0, 3) }).routes.get('c') ?? aTree({ routes: [root] }).root)).toBe(
      'a/b/c',
    );
  });

  it.each([
    ['an empty window', { routes: [root], windows: { n: { from: '22:00', to: '22:00' } } }],
    ['no routes', { routes: [] }],
    ['a matcher without an operator', { routes: [root, { id: 'a', under: 'all', match: ['severity'] }] }],
  ])('with %s is no document', (_what, document) => {
    expect(RoutingDocument.safeParse(document).success).toBe(false);
  });
});
