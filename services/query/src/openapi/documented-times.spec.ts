import { OPERATIONS, type Operation } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { openApiDocument } from './openapi-document.ts';

type Json = Readonly<Record<string, unknown>>;

const TIME = /(At|Until|Since)$|^(at|from|to|since|until|before|after|time|timestamp|bucket)$/;

/** Members that are named like times but are not, with the reason. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'changes.from': 'the previous value of a rule field',
  'changes.to': 'the new value of a rule field',
  'get /v1/control/poll ?after': 'the id of the previous answer',
  'CheckInvoiceAnswer.from': 'a UTC day',
  'CheckInvoiceAnswer.to': 'a UTC day',
  'PriceTable.publishedAt': 'a UTC day',
  'windows.from': 'a time of day',
  'windows.to': 'a time of day',
  'config.from': 'an e-mail address',
};

describe('a time', () => {
  it('declares the date-time format wherever it is documented', () => {
    const wrong = undeclaredTimes(openApiDocument(OPERATIONS, '1'));
    expect(wrong.filter((place) => !isAccepted(place))).toEqual([]);
  });

  it('has only exceptions that are still needed', () => {
    const wrong = undeclaredTimes(openApiDocument(OPERATIONS, '1'));
    const unused = Object.keys(ACCEPTED).filter((end) => !wrong.some((place) => isOf(place, end)));
    expect(unused).toEqual([]);
  });

  it.each([
    ['a string', z.object({ madeAt: z.string() })],
    ['a nullable string', z.object({ madeAt: z.string().nullable() })],
    ['of any type', z.object({ madeAt: z.unknown() })],
    ['a string in a list', z.object({ rows: z.array(z.object({ since: z.string() })) })],
  ])('is reported if it is %s without a format', (_name, response) => {
    const op: Operation = {
      ...{ id: 'getThing', method: 'get', path: '/things', tag: 'Things', summary: '', scope: 'read' },
      response,
    };
    expect(undeclaredTimes(openApiDocument([op], '1'))).toHaveLength(1);
  });
});

function isAccepted(place: string): boolean {
  return Object.keys(ACCEPTED).some((end) => isOf(place, end));
}

function isOf(place: string, end: string): boolean {
  return place === end || place.endsWith(`.${end}`);
}

/** Members and parameters that are named like times, may be strings and do not declare a time format. */
function undeclaredTimes(document: Json): string[] {
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

/** A schema without a type allows any value. */
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
