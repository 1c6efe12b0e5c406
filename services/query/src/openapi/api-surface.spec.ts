import { readFileSync } from 'node:fs';
import { OPERATIONS, type Operation } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { type ApiSurface, apiSurface, linesOf, surfaceOf } from './api-surface.testing.ts';
import { openApiDocument } from './openapi-document.ts';

/**
 * The API surface of the last release, one promise per line. docs/api-versions.md defines which changes are allowed.
 */
const released = surfaceOf(
  readFileSync(new URL('./api-0.1.0.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n'),
);
const today = apiSurface(openApiDocument(OPERATIONS, '1'));

/** Promises of release 0.1.0 that changed since, with the reason. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'POST /v1/runs/{runId}/evaluate body agentId=': 'the schema now rejects an empty id; it meant "no agent" before',
  'GET /api/sessions/{id}/timeline 200 chainValid: boolean': 'AgentLens clients read it as a boolean; null broke them',
  'PUT /api/breakers/limits body limits: anything': 'the owner already rejected invalid limits before',
};
const isAccepted = (name: string) => Object.keys(ACCEPTED).some((start) => name.startsWith(start));

const broken = [...missing(released, today), ...needed(released, today), ...retyped(released, today)];

describe('the HTTP API compared with the last release', () => {
  it('keeps every promise, requires nothing new, and keeps all types', () => {
    expect(broken.filter((name) => !isAccepted(name))).toEqual([]);
  });

  it('lists only changes that still differ from the release', () => {
    expect(Object.keys(ACCEPTED).filter((start) => !broken.some((name) => name.startsWith(start)))).toEqual([]);
  });
});

describe('the comparison with the last release', () => {
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
    ['a parameter loses an enum value', { query: op.query.extend({ by: z.enum(['day']) }) }, ['?by=week']],
    ['a string parameter becomes an enum', { query: op.query.extend({ q: z.enum(['a']).optional() }) }, ['?q: string']],
    ['a parameter becomes required', { query: op.query.extend({ q: z.string() }) }, ['needs ?q']],
    ['a body member accepts fewer types', { body: op.body.extend({ n: z.int().optional() }) }, ['body n: number']],
    [
      'a body member loses an enum value',
      { body: op.body.extend({ mode: z.enum(['on']).optional() }) },
      ['body mode=off'],
    ],
    ['a response member changes its type', { response: op.response.extend({ id: z.int() }) }, ['200 id: integer']],
    [
      'a response member becomes nullable',
      { response: op.response.extend({ id: z.string().nullable() }) },
      ['200 id: null'],
    ],
    [
      'a response member gets a wider type',
      { response: op.response.extend({ cost: z.number() }) },
      ['200 cost: number'],
    ],
    ['a response member becomes any type', { response: op.response.extend({ id: z.unknown() }) }, ['200 id: anything']],
    ['a response member is removed', { response: z.object({ id: z.string() }) }, ['200 cost']],
    ['a header is removed', { tagged: false }, ['200 header ETag', '304 header ETag']],
  ] as const)('fails if %s', (_what, change, names) => {
    expect(brokenBy(change)).toEqual(names.map((name) => `POST /things ${name}`));
  });

  it.each([
    ['a parameter gains an enum value', { query: op.query.extend({ by: z.enum(['day', 'week', 'month']) }) }],
    ['a body member accepts more types', { body: op.body.extend({ n: z.union([z.number(), z.string()]).optional() }) }],
    ['a body gains an optional member', { body: op.body.extend({ more: z.string().optional() }) }],
    ['a response gains a member', { response: op.response.extend({ more: z.string() }) }],
    ['a response member becomes an enum', { response: op.response.extend({ id: z.enum(['a', 'b']) }) }],
  ])('passes if %s', (_what, change) => {
    expect(brokenBy(change)).toEqual([]);
  });
});

/** Promises of the release that no longer exist. */
function missing(before: ApiSurface, after: ApiSurface): string[] {
  return [...before.keys()].filter((name) => !name.includes(' needs ') && !after.has(name));
}

/** New required input on routes that the release had. */
function needed(before: ApiSurface, after: ApiSurface): string[] {
  const wasThere = (name: string) => before.has(name.slice(0, name.indexOf(' needs ')));
  return [...after.keys()].filter((name) => name.includes(' needs ') && wasThere(name) && !before.has(name));
}

/** Types that requests no longer accept, and types that responses did not have before. */
function retyped(before: ApiSurface, after: ApiSurface): string[] {
  return [...before].flatMap(([name, was]) => {
    const is = after.get(name) ?? was;
    const isAnswer = /^\S+ \S+ \d/.test(name);
    const [taken, sent] = isAnswer ? [covered(was), is] : [covered(is), was];
    if (taken.has('anything')) return [];
    return [...sent].filter((type) => !taken.has(type)).map((type) => `${name}: ${type}`);
  });
}

/** Adds the types that the given types include. */
function covered(types: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...types, ...(types.has('number') ? ['integer'] : []), ...(types.has('string') ? ['word'] : [])]);
}
