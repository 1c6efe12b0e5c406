import { OPERATIONS, type Operation } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { openApiDocument } from './openapi-document.ts';

type Json = Readonly<Record<string, unknown>>;

const TIME = /(At|Until|Since)$|^(at|from|to|since|until|before|after|time|timestamp|bucket)$/;

/** What is named like a time and is none, and why. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'changes.from': 'what a field of a rule was',
  'changes.to': 'what a field of a rule is',
  'get /v1/control/poll ?after': 'an answer before, by its id',
};

describe('a time', () => {
  it('says that it is one, wherever the document names one', () => {
    const wrong = untold(openApiDocument(OPERATIONS, '1'));
    expect(wrong.filter((place) => !isAccepted(place))).toEqual([]);
  });

  it('is told from other things by a list without spare lines', () => {
    const wrong = untold(openApiDocument(OPERATIONS, '1'));
    const unused = Object.keys(ACCEPTED).filter((end) => !wrong.some((place) => isOf(place, end)));
    expect(unused).toEqual([]);
  });

  it.each([
    ['a text', z.object({ madeAt: z.string() })],
    ['a text or null', z.object({ madeAt: z.string().nullable() })],
    ['anything', z.object({ madeAt: z.unknown() })],
    ['a text in a list', z.object({ rows: z.array(z.object({ since: z.string() })) })],
  ])('is missed where it is %s', (_name, response) => {
    const op: Operation = {
      ...{ id: 'getThing', method: 'get', path: '/things', tag: 'Things', summary: '', scope: 'read' },
      response,
    };
    expect(untold(openApiDocument([op], '1'))).toHaveLength(1);
  });
});

function isAccepted(place: string): boolean {
  return Object.keys(ACCEPTED).some((end) => isOf(place, end));
}

function isOf(place: string, end: string): boolean {
  return place === end || place.endsWith(`.${end}`);
}

/** Members and parameters named like times that may be a text and do not say that it is a time. */
function untold(document: Json): string[] {
  const places: string[] = [];
  for (const [path, methods] of Object.entries(document.paths as Record<string, Record<string, Json>>)) {
    for (const [method, op] of Object.entries(methods)) {
      for (const { name, schema } of op.parameters as { name: string; schema: Json }[]) {
        if (TIME.test(name) && mayBeOtherText(schema)) places.push(`${method} ${path} ?${name}`);
      }
      walk({ ...op, parameters: undefined }, `${method} ${path}`, places);
    }
  }
  for (const [name, schema] of Object.entries((document.components as { schemas: Json }).schemas)) {
    walk(schema, name, places);
  }
  return places;
}

function walk(node: unknown, at: string, places: string[]): void {
  if (Array.isArray(node)) for (const item of node) walk(item, at, places);
  if (!isObject(node)) return;
  for (const [key, value] of Object.entries(node)) {
    if (key !== 'properties' || !isObject(value)) walk(value, at, places);
    else for (const member of Object.entries(value)) walkMember(member, at, places);
  }
}

function walkMember([name, schema]: [string, unknown], at: string, places: string[]): void {
  if (TIME.test(name) && mayBeOtherText(schema as Json)) places.push(`${at}.${name}`);
  walk(schema, `${at}.${name}`, places);
}

/** Of a schema that says no type anything may come. */
function mayBeOtherText({ $ref, type, format, enum: words, const: word, anyOf, oneOf }: Json): boolean {
  const branches = (anyOf ?? oneOf) as Json[] | undefined;
  if (branches !== undefined) return branches.some(mayBeOtherText);
  if ($ref !== undefined || words !== undefined || word !== undefined) return false;
  const mayBeText = type === undefined || [type].flat().includes('string');
  return mayBeText && format !== 'date-time';
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}
