import type { Decision, DecisionRequest } from '@agentlens/contracts';
import { AnswerMeter, writeWholeAnswer } from '@agentlens/model-api';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { GatewayCall } from '../gateway-call.ts';
import { AnswerRules } from './answer-rules.ts';

const CALL = {
  ...{ id: 'gw-1', tenantId: 'acme', agentId: 'bot', runId: 'run-1', model: 'm', body: new Uint8Array(9) },
  connection: { name: 'us', provider: 'openai' },
  caller: { keyId: 'k' },
  request: { tools: ['pay'], serverTools: [], maxTokens: 50, streamed: false, attachments: 0 },
} as unknown as GatewayCall;
const ALLOW = {
  ...{ id: 'd-1', verdict: 'ALLOW', control: 'CONTINUE', effect: 'allow', cause: { kind: 'ALLOW' }, message: '' },
  bypasses: [],
};
const BLOCK = { ...ALLOW, verdict: 'BLOCK', effect: 'block', reason: 'rule', message: 'Cut short' };
const END = { ...BLOCK, control: 'TERMINATE', effect: 'terminate' };
const UNDECIDED = { ...BLOCK, reason: 'unjudged', bypasses: [{ ruleId: '*', why: 'unavailable', did: 'block' }] };

const meter = new AnswerMeter('chat', 5);
meter.whole(
  Buffer.from(
    writeWholeAnswer('chat', {
      ...{ id: 'a', model: 'm-2026', pieces: ['Hi'], inputTokens: 7, outputTokens: 3 },
      tools: [{ id: 'c', name: 'pay', args: {} }],
    }),
  ),
);
const ANSWER = meter.end();

/** Rules about answers, with decisions in the order in which they are asked for; the last one repeats. */
function rulesWith(decisions: readonly object[], concerns: boolean | undefined = true) {
  const clock = fixedClock();
  const asked: DecisionRequest[] = [];
  const stops: string[] = [];
  let waitedMs = 0;
  const rules = new AnswerRules({
    decisions: {
      decide: async (question) => {
        const decision = decisions[asked.push(question) - 1] ?? decisions.at(-1);
        return { decision: decision as unknown as Decision, by: 'gateway' };
      },
    },
    path: { concerns: () => concerns },
    runs: { completed: async (request) => request },
    trees: { running: async () => undefined },
    standing: { noteStop: async (_tenantId, runId, message) => void stops.push(`${runId}: ${message}`) },
    clock,
    pause: async (ms, signal) => {
      signal.throwIfAborted();
      waitedMs += ms;
      clock.advance(ms);
    },
  });
  const { signal } = new AbortController();
  return {
    ...{ asked, stops, waitedMs: () => waitedMs, require: () => rules.require(CALL, ANSWER, signal) },
    note: () => rules.note(CALL, ANSWER),
    concern: () => rules.concern(CALL),
  };
}

describe('rules about answers', () => {
  it('read the call and what is known of its answer', async () => {
    const { require, asked } = rulesWith([ALLOW]);
    await require();
    expect(asked).toMatchObject([
      {
        ...{ phase: 'llm.after', callId: 'gw-1', tags: { connection: 'us', via: 'gateway' } },
        args: { model: 'm', connection: 'us', fallback: null, request: { maxTokens: 50, bytes: 9 } },
      },
    ]);
    expect(asked[0]?.result).toEqual({
      ...{ finishReason: 'tool_calls', model: 'm-2026', inputTokens: 7, outputTokens: 3 },
      ...{ tools: ['pay'], isComplete: true },
    });
    expect(asked[0]).not.toHaveProperty('estimate');
  });

  it('are asked if there are any, or if that is not known', async () => {
    expect([true, undefined, false].map((known) => rulesWith([], known).concern())).toEqual([true, true, false]);
    const none = rulesWith([BLOCK], false);
    await none.require();
    await none.note();
    expect(none.asked).toEqual([]);
  });

  it('withhold an answer that the client does not have, and end its run only if they say so', async () => {
    const blocked = rulesWith([BLOCK]);
    await expect(blocked.require()).rejects.toMatchObject({
      refusal: {
        kind: 'policy',
        code: 'agentlens_blocked',
        message: expect.stringContaining('Cut short. Decision d-1'),
      },
    });
    expect(blocked.stops).toEqual([]);
    const ended = rulesWith([END]);
    await expect(ended.require()).rejects.toMatchObject({ refusal: { code: 'agentlens_stopped' } });
    expect(ended.stops).toEqual([expect.stringContaining('run-1: AgentLens refused this answer: Cut short')]);
  });

  it.each([BLOCK, END])('refuse the next calls after an answer that the client has: $effect', async (decision) => {
    const { note, stops } = rulesWith([decision]);
    await note();
    expect(stops).toEqual([expect.stringContaining('run-1: AgentLens stopped this run after an answer: Cut short')]);
  });

  it.each(['budget', 'breaker'])('leave an answer alone that is paid: %s', async (reason) => {
    const { require, note, stops } = rulesWith([{ ...END, reason }]);
    await require();
    await note();
    expect(stops).toEqual([]);
  });

  it('are asked again, for half a minute, while there is no decision', async () => {
    await rulesWith([UNDECIDED, UNDECIDED, ALLOW]).require();
    const { require, waitedMs } = rulesWith([UNDECIDED]);
    await expect(require()).rejects.toMatchObject({ refusal: { code: 'agentlens_blocked' } });
    expect(waitedMs()).toBeGreaterThanOrEqual(30_000);
    expect(waitedMs()).toBeLessThan(35_000);
    const noted = rulesWith([UNDECIDED]);
    await noted.note();
    expect([noted.asked.length, noted.stops]).toEqual([1, []]);
  });
});
