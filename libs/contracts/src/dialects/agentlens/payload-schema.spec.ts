import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { z } from 'zod';
import { SEVERITIES } from '../../events.ts';
import { parseEnvelope, plainEnvelope } from './envelope.ts';
import { EVENT_TYPE_NAMES, EVENT_TYPES } from './event-types.ts';

/** Values at and beyond every bound of the vocabulary's fields. */
const CANDIDATES: readonly unknown[] = [
  ...[
    undefined,
    null,
    true,
    false,
    0,
    1,
    -1,
    -0,
    0.5,
    1e5,
    100_001,
    1e12,
    1e13,
    '',
    'text',
    'completed',
    'x'.repeat(256),
  ],
  ...['x'.repeat(257), 'x'.repeat(1000), 'x'.repeat(1001), [], ['a'], [1], [{}], [{ role: 'user' }], {}, { a: 1 }],
  ...[[{ role: 'user', content: [1] }], [{ role: 'user', content: 1 }], { inputTokens: 1 }, { totalTokens: -1 }],
  ...[{ constructor: 1 }, { toString: null }],
];

function shapeOf(schema: z.ZodType): Readonly<Record<string, z.ZodType>> {
  return (schema as unknown as z.ZodObject<Record<string, z.ZodType>>).shape;
}

/** Generates payloads whose fields are mostly valid. */
function payloads(schema: z.ZodType): fc.Arbitrary<Record<string, unknown>> {
  const members = Object.entries(shapeOf(schema)).map(([name, field]) => {
    const right = CANDIDATES.filter((value) => field.safeParse(value).success);
    const value = fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...right) }, fc.constantFrom(...CANDIDATES));
    return [name, value] as const;
  });
  return fc.record({ ...Object.fromEntries(members), unnamed: fc.constantFrom(...CANDIDATES) });
}

describe.each(EVENT_TYPE_NAMES)('the fast check of a %s payload', (type) => {
  const { fits, schema } = EVENT_TYPES[type].payload;

  it('agrees with the schema, which returns the payload unchanged', () => {
    fc.assert(
      fc.property(payloads(schema), (payload) => {
        const read = schema.safeParse(payload);
        expect(fits(payload)).toBe(read.success);
        if (read.success) expect(read.data).toEqual(payload);
      }),
    );
  });

  it.each([undefined, null, 'text', 1, []])('agrees with the schema on %p', (payload) => {
    expect(fits(payload)).toBe(schema.safeParse(payload).success);
  });
});

describe('the fast check of an envelope', () => {
  const id = fc.constantFrom(
    'agent-1',
    'x'.repeat(256),
    'ünï',
    'a b',
    'x'.repeat(257),
    '',
    'a\nb',
    'a\u007f',
    7,
    null,
    undefined,
  );
  const object = fc.constantFrom<unknown>({}, { a: 1 }, [], null, undefined, 'text');
  const raws = fc.record({
    id,
    sessionId: id,
    agentId: id,
    severity: fc.constantFrom(...SEVERITIES, 'warning', 'fatal', null, undefined),
    payload: object,
    metadata: object,
    timestamp: fc.constantFrom(
      ...[
        '2026-03-01T12:00:00.000Z',
        '2026-02-30T12:00:00.000Z',
        '2026-03-01T12:00:00Z',
        '2026-03-01T13:00:00.123+01:00',
      ],
      ...['yesterday', 1, null, undefined],
    ),
    tags: fc.constantFrom(undefined, null, [], ['a'], 'a'),
    unnamed: object,
  });

  it('reads like the schema or defers to it', () => {
    fc.assert(
      fc.property(raws, (raw) => {
        const plain = plainEnvelope(raw);
        if (plain !== undefined) expect(plain).toEqual(parseEnvelope(raw).data);
      }),
      { numRuns: 2_000 },
    );
  });

  it('suffices for an event as documented', () => {
    const raw = { sessionId: 's', agentId: 'a', severity: 'info', payload: {}, timestamp: '2026-03-01T12:00:00.000Z' };
    expect(plainEnvelope({ ...raw, id: 'e-1', metadata: { region: 'eu' } })).toBeDefined();
    expect(plainEnvelope({ sessionId: 's', agentId: 'a', payload: {} })).toBeDefined();
  });
});
