import { COMMANDS, Decision } from '@agentlens/contracts';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import fc from 'fast-check';
import { allowing, QUESTION } from './agent-protocol.ts';
import { type Gateway, startGateway } from './gateway.ts';

/** How the evaluator handles one question. */
type Behaviour = 'allows' | 'blocks' | 'throws' | 'refuses' | { readonly nonsense: unknown };

const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  fc.constantFrom<Behaviour>('allows', 'blocks', 'throws', 'refuses'),
  fc.jsonValue({ maxDepth: 2 }).map((nonsense) => ({ nonsense })),
  // Almost a decision: one member is something else.
  fc
    .tuple(fc.constantFrom<keyof Decision>('verdict', 'control', 'cause', 'bypasses', 'evaluatedRules'), fc.jsonValue())
    .map(([member, value]) => ({ nonsense: { ...allowing(REQUEST), [member]: value === 'ALLOW' ? 0 : value } })),
);
const REQUEST: Parameters<typeof allowing>[0] = {
  ...{ tenantId: 'cautious', agentId: 'bot', runId: 'r', phase: 'tool.before', tags: {}, subjects: [], metrics: {} },
  ...{ receivedAt: '2026-03-01T12:00:00.000Z', deadlineMs: 1_000 },
};
const fields = fc.record(
  {
    callId: fc.oneof(fc.string(), fc.jsonValue()),
    sessionId: fc.jsonValue(),
    agentId: fc.jsonValue(),
    estimate: fc.jsonValue(),
    actor: fc.jsonValue(),
    args: fc.jsonValue(),
    tags: fc.jsonValue(),
  },
  { requiredKeys: [] },
);

describe('for a tenant whose fail mode is block', () => {
  let gateway: Gateway;
  let next: Behaviour = 'allows';
  beforeAll(async () => {
    gateway = await startGateway();
    await gateway.bus.serve(COMMANDS.decide, async (request) => {
      if (next === 'throws') throw new Error('bug');
      if (next === 'refuses') return { ok: false as const, problem: { error: 'no', status: 400 } };
      const decision = { ...allowing(request), ...(next === 'blocks' ? { verdict: 'BLOCK' as const } : {}) };
      return { ok: true as const, value: typeof next === 'string' ? decision : (next.nonsense as Decision) };
    });
  });
  afterAll(() => gateway.close());

  it('no call passes that the evaluator did not allow, for any answer and any question', async () => {
    await fc.assert(
      fc.asyncProperty(behaviour, fields, async (answer, question) => {
        next = answer;
        const { status, body } = await gateway.inject({
          method: 'POST',
          url: '/v1/runs/r/evaluate',
          headers: { authorization: `Bearer ${gateway.keys.cautious}`, 'content-type': 'application/json' },
          payload: JSON.stringify({ ...QUESTION, ...question }),
        });
        if (status !== 200)
          throw new Error(`a client of the protocol would continue: ${status} ${JSON.stringify(body)}`);
        if (body.verdict === 'ALLOW' && !isAllowing(answer)) throw new Error(`passed after ${JSON.stringify(answer)}`);
      }),
      { numRuns: 150 },
    );
  });
});

/** Returns true also for a random value that is a valid decision. */
function isAllowing(answer: Behaviour): boolean {
  if (typeof answer === 'string') return answer === 'allows';
  const decision = Decision.safeParse(answer.nonsense);
  return decision.success && decision.data.verdict === 'ALLOW';
}
