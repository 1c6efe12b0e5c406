import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DECISION_PHASES } from '../../decisions.ts';
import { readPlainQuestion } from './plain-question.ts';
import { EvaluateBody } from './requests.ts';

const odd = fc.oneof(
  fc.constantFrom(null, undefined, '', 'a\u0000b', 'half \ud800', 'with 😀', 'x'.repeat(300), 'y'.repeat(1_100)),
  fc.constantFrom(0, -1, 1.5, Number.POSITIVE_INFINITY, true, [], {}),
  fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text) as unknown),
);
const often = <T>(usual: fc.Arbitrary<T>) => fc.oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: odd });
const name = often(fc.string({ minLength: 1, maxLength: 20 }));
const members = (value: fc.Arbitrary<unknown>) =>
  often(fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('constructor', '__proto__', 'a\u0000')), value));

const questions = fc.record(
  {
    phase: often(fc.constantFrom(...DECISION_PHASES)),
    agentId: name,
    tool: often(fc.record({ name, tags: often(fc.array(name, { maxLength: 4 })), more: odd }, { requiredKeys: [] })),
    args: odd,
    result: odd,
    actor: often(fc.record({ externalId: name, name, metadata: members(odd) }, { requiredKeys: [] })),
    tags: members(name),
    subjects: often(fc.array(fc.record({ subjectType: name, value: name }, { requiredKeys: [] }), { maxLength: 2 })),
    metrics: members(often(fc.double())),
    callId: name,
    sessionId: name,
    estimate: often(fc.record({ tokens: often(fc.nat()), costUsd: often(fc.double()) }, { requiredKeys: [] })),
    model: often(fc.record({ name, provider: name }, { requiredKeys: [] })),
    deadlineMs: often(fc.integer()),
    unread: often(fc.subarray(['args', 'result'])),
    unknown: odd,
  },
  { requiredKeys: [] },
);

/** As a body arrives. */
const asSent = (question: unknown) => JSON.parse(JSON.stringify(question)) as unknown;

describe('a plain question', () => {
  it('is read as by the schema, and nothing else is read', () => {
    let plain = 0;
    fc.assert(
      fc.property(questions, (question) => {
        for (const body of [question, asSent(question)]) {
          const read = readPlainQuestion(body);
          if (read === undefined) continue;
          plain += 1;
          expect(read).toEqual(EvaluateBody.parse(body));
        }
      }),
      { numRuns: 800 },
    );
    expect(plain).toBeGreaterThan(100);
  });

  it('of our own clients needs no schema', () => {
    const question = {
      ...{ phase: 'tool.before', agentId: 'support-bot', tool: { name: 'refund', tags: ['write'] }, callId: 'call-1' },
      ...{ args: { order: 'A-1007' }, tags: { team: 'billing' }, subjects: [], metrics: { bytes_in: 40 } },
    };
    expect(readPlainQuestion(question)).toEqual(question);
    expect(readPlainQuestion({ phase: 'llm.before', agentId: 'a' })).toMatchObject({ phase: 'llm.before' });
  });

  it.each([undefined, null, [], 'text', {}, { phase: 'tool.before' }, { phase: 'tool.after', tool: null }])(
    'is not %j, which the schema rejects',
    (body) => {
      expect(readPlainQuestion(body)).toBeUndefined();
      expect(EvaluateBody.safeParse(body).success).toBe(false);
    },
  );
});
