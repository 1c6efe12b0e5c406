import { describe, expect, it } from '@jest/globals';
import { Conformance, type ConformanceAnswer } from './conformance.ts';
import type { DocumentedOperation } from './document.ts';

const components = {
  schemas: {
    Thing: {
      type: 'object',
      properties: { id: { type: 'string' }, count: { type: 'integer' }, at: { type: 'string', format: 'date-time' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
};
const content = { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } };
const operation: DocumentedOperation = {
  path: '/things/{id}',
  method: 'get',
  operation: {
    responses: {
      200: { content },
      201: { content, headers: { ETag: { required: true }, Link: {} } },
      304: {},
    },
  },
};
const conformance = new Conformance({ components });
const complaintsOf = (answer: Partial<ConformanceAnswer>) =>
  conformance.complaints(operation, {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    text: '{"id":"a"}',
    ...answer,
  });

describe('a response', () => {
  it('conforms to the document', () => {
    expect(complaintsOf({ text: '{"id":"a","count":1,"at":"2026-03-01T12:00:00.000Z"}' })).toEqual([]);
    expect(complaintsOf({ status: 304, headers: {}, text: '' })).toEqual([]);
  });

  it.each([
    ['lacks a member', '{}', "must have required property 'id'"],
    [
      'has an unknown member',
      '{"id":"a","secret":1}',
      'must NOT have additional properties {"additionalProperty":"secret"}',
    ],
    ['has a member with another type', '{"id":"a","count":"1"}', 'body/count must be integer'],
    ['has a member with another format', '{"id":"a","at":"yesterday"}', 'body/at must match format "date-time"'],
    ['is something else entirely', '[]', 'body must be object'],
    ['is not JSON', '{"id"', 'the body is not JSON'],
  ])('%s', (_name, text, complaint) => {
    expect(complaintsOf({ text })).toEqual([expect.stringContaining(complaint)]);
  });

  it('has an undeclared status', () => {
    expect(complaintsOf({ status: 404 })).toEqual(['status 404 is not declared']);
  });

  it('has an undeclared content type, or none', () => {
    const only = 'is not declared, only application/json';
    expect(complaintsOf({ headers: { 'content-type': 'text/html' } })).toEqual([`content type "text/html" ${only}`]);
    expect(complaintsOf({ headers: {} })).toEqual([`content type "" ${only}`]);
  });

  it('has a body although none is declared', () => {
    expect(complaintsOf({ status: 304 })).toEqual(['has a body, and none is declared']);
  });

  it('lacks a required header', () => {
    expect(complaintsOf({ status: 201 })).toEqual(['has no header ETag']);
    const headers = { 'content-type': 'application/json', etag: '"1"' };
    expect(complaintsOf({ status: 201, headers })).toEqual([]);
  });
});

it('rejects a schema with unknown keywords', () => {
  const schema = { type: 'object', propertys: {} };
  const odd = { ...operation, operation: { responses: { 200: { content: { 'application/json': { schema } } } } } };
  const answer = { status: 200, headers: { 'content-type': 'application/json' }, text: '{}' };
  expect(() => conformance.complaints(odd, answer)).toThrow('unknown keyword: "propertys"');
});
