import { readFileSync } from 'node:fs';
import { OPERATIONS, type Operation } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { type ApiSurface, apiSurface, linesOf, surfaceOf } from './api-surface.testing.ts';
import { openApiDocument } from './openapi-document.ts';

/** Of the last release, one promise a line; docs/api-versions.md says what may change. */
const released = surfaceOf(
  readFileSync(new URL('./api-0.1.0.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n'),
);
const today = apiSurface(openApiDocument(OPERATIONS, '1'));

/** What release 0.1.0 promised and we took back or ask for since, and why. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'POST /v1/runs/{runId}/evaluate body agentId=': 'an empty id is one of all texts now, taken as none as before',
  'GET /api/sessions/{id}/timeline 200 chainValid: boolean':
    'clients of AgentLens read it as a boolean; null was broken',
  'PUT /api/breakers/limits body limits: anything': 'what is no set of limits was refused before, by the owner',
};
const isAccepted = (name: string) => Object.keys(ACCEPTED).some((start) => name.startsWith(start));

const broken = [...missing(released, today), ...needed(released, today), ...retyped(released, today)];

describe('the HTTP API, beside the last release', () => {
  it('has what the release had, asks for nothing more, and is of the same types', () => {
    expect(broken.filter((name) => !isAccepted(name))).toEqual([]);
  });

  it('differs only where it still has to be said', () => {
    expect(Object.keys(ACCEPTED).filter((start) => !broken.some((name) => name.startsWith(start)))).toEqual([]);
  });
});

describe('a promise is broken', () => {
  const op = {
    ...{ id: 'makeThing', method: 'post', path: '/things', tag: 'Things', summary: '', scope: 'read', tagged: true },
    query: z.object({ by: z.enum(['day', 'week']), q: z.string().optional() }),
    body: z.object({ n: z.number().optional(), mode: z.enum(['on', 'off']).optional() }),
    response: z.object({ id: z.string(), cost: z.int() }),
  } satisfies Operation;
  const brokenBy = (change: Partial<Operation>) => {
    const [before, after] = [op, { ...op, ...change }].map((one) => apiSurface(openApiDocument([one], '1')));
    if (before === undefined || after === undefined) throw new Error('no surface');
    const written = surfaceOf(linesOf(before));
    return [...missing(written, after), ...needed(written, after), ...retyped(written, after)];
  };

  it.each([
    ['a word of a parameter goes', { query: op.query.extend({ by: z.enum(['day']) }) }, ['?by=week']],
    ['a parameter takes words only', { query: op.query.extend({ q: z.enum(['a']).optional() }) }, ['?q: string']],
    ['a parameter is needed', { query: op.query.extend({ q: z.string() }) }, ['needs ?q']],
    ['a member of a body takes less', { body: op.body.extend({ n: z.int().optional() }) }, ['body n: number']],
    ['a word of a body goes', { body: op.body.extend({ mode: z.enum(['on']).optional() }) }, ['body mode=off']],
    ['a member of an answer is another', { response: op.response.extend({ id: z.int() }) }, ['200 id: integer']],
    ['it may be null', { response: op.response.extend({ id: z.string().nullable() }) }, ['200 id: null']],
    ['it may be more', { response: op.response.extend({ cost: z.number() }) }, ['200 cost: number']],
    ['it may be anything', { response: op.response.extend({ id: z.unknown() }) }, ['200 id: anything']],
    ['it goes', { response: z.object({ id: z.string() }) }, ['200 cost']],
    ['a header goes', { tagged: false }, ['200 header ETag', '304 header ETag']],
  ] as const)('where %s', (_what, change, names) => {
    expect(brokenBy(change)).toEqual(names.map((name) => `POST /things ${name}`));
  });

  it.each([
    ['a parameter takes another word', { query: op.query.extend({ by: z.enum(['day', 'week', 'month']) }) }],
    ['a member of a body takes more', { body: op.body.extend({ n: z.union([z.number(), z.string()]).optional() }) }],
    ['a body has another member', { body: op.body.extend({ more: z.string().optional() }) }],
    ['an answer has another member', { response: op.response.extend({ more: z.string() }) }],
    ['a member of an answer is one of words', { response: op.response.extend({ id: z.enum(['a', 'b']) }) }],
  ])('not where %s', (_what, change) => {
    expect(brokenBy(change)).toEqual([]);
  });
});

/** What the release had and there is not any more. */
function missing(before: ApiSurface, after: ApiSurface): string[] {
  return [...before.keys()].filter((name) => !name.includes(' needs ') && !after.has(name));
}

/** What has to be sent now, of routes that the release had. */
function needed(before: ApiSurface, after: ApiSurface): string[] {
  const wasThere = (name: string) => before.has(name.slice(0, name.indexOf(' needs ')));
  return [...after.keys()].filter((name) => name.includes(' needs ') && wasThere(name) && !before.has(name));
}

/** Types that requests may not have any more, and those that answers did not have. */
function retyped(before: ApiSurface, after: ApiSurface): string[] {
  return [...before].flatMap(([name, was]) => {
    const is = after.get(name) ?? was;
    const isAnswer = /^\S+ \S+ \d/.test(name);
    const [taken, sent] = isAnswer ? [covered(was), is] : [covered(is), was];
    if (taken.has('anything')) return [];
    return [...sent].filter((type) => !taken.has(type)).map((type) => `${name}: ${type}`);
  });
}

/** With what is one of them too. */
function covered(types: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...types, ...(types.has('number') ? ['integer'] : []), ...(types.has('string') ? ['word'] : [])]);
}
