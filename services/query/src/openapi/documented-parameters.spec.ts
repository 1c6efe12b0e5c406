import { createBudget, createOrder, OPERATIONS, setBreakerLimits } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { openApiDocument } from './openapi-document.ts';

interface TextSchema {
  readonly type?: string;
  readonly pattern?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: TextSchema;
}
interface Documented {
  readonly paths: Record<
    string,
    Record<string, { readonly parameters: readonly Parameter[]; readonly requestBody?: { readonly required: boolean } }>
  >;
  readonly components: { readonly schemas: Record<string, object> };
}

const document = openApiDocument(OPERATIONS, '1') as unknown as Documented;
const documentedOf = ({ path, method }: { path: string; method: string }) =>
  document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method];

/** Whether the documented schema allows a text. */
function isAllowed(
  { type, pattern, format, enum: words, minLength = 0, maxLength }: TextSchema,
  text: string,
): boolean {
  if (type !== 'string' || format !== undefined) return false;
  if (words !== undefined && !words.includes(text)) return false;
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(text)) return false;
  return text.length >= minLength && (maxLength === undefined || text.length <= maxLength);
}

const ODD = ['', ' ', ',', ',,', ', ', '\u0000', 'a\u0007', `${'x,'.repeat(51)}x`, 'x'.repeat(5_000), '-', '0'];

describe('a query parameter', () => {
  const parameters = OPERATIONS.filter((op) => op.tolerant !== true).flatMap((op) =>
    Object.entries(op.query?.shape ?? {}).map(([name, schema]) => [`${name} of ${op.id}`, op, name, schema] as const),
  );

  it.each(parameters)('%s accepts every unusual text that its schema allows', (_name, op, name, schema) => {
    const described = documentedOf(op)?.parameters.find((one) => one.in === 'query' && one.name === name);
    expect(described).toBeDefined();
    // Only the server can distinguish its own cursor from another text of that form.
    const texts = name === 'cursor' ? ODD.slice(0, -2) : ODD;
    const refused = texts.filter((text) => described !== undefined && isAllowed(described.schema, text));
    expect(refused.filter((text) => !z.safeParse(schema, text).success)).toEqual([]);
  });
});

describe('a body', () => {
  it.each([
    ['createBudget', createBudget, true],
    ['createOrder', createOrder, true],
    ['setBreakerLimits', setBreakerLimits, true],
  ])('of %s is documented as required', (_name, op, required) => {
    expect(documentedOf(op)?.requestBody?.required).toBe(required);
  });

  it('of a budget documents the minimum amount', () => {
    expect(document.components.schemas.BudgetDraft).toMatchObject({
      properties: { limitUsd: { minimum: 0.000001, maximum: 99_999_999 } },
      additionalProperties: false,
    });
  });

  it.each(['CreateOrderBody', 'SetBreakerLimitsBody'])('%s requires the id of a run or agent', (name) => {
    const branches = (document.components.schemas[name] as { oneOf: { anyOf?: object[] }[] }).oneOf;
    const either = [{ required: ['scopeId'] }, { required: ['id'] }];
    expect(branches.map(({ anyOf }) => anyOf)).toEqual([undefined, either, either]);
  });
});

describe('an operation', () => {
  it('has a unique camel-case id', () => {
    const ids = OPERATIONS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id))).toEqual([]);
  });

  it('documents the headers it reads and the frames of its stream', () => {
    const stream = documentedOf({ path: '/api/stream', method: 'get' });
    expect(stream?.parameters).toContainEqual(expect.objectContaining({ name: 'last-event-id', in: 'header' }));
    expect(stream).toHaveProperty('x-frames.session_update', { $ref: '#/components/schemas/Session' });
  });
});
