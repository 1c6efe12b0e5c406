import type { Decision } from '@agentlens/contracts';
import type { AnsweredCall } from '@agentlens/model-api';
import { createLogger } from '@agentlens/platform';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { GatewayCall } from '../gateway-call.ts';
import { AnswerTools } from './answer-tools.ts';
import type { AskedTool } from './tool-questions.ts';

const CALL = { id: 'gw-1', tenantId: 'acme', agentId: 'bot', runId: 'run-1' } as unknown as GatewayCall;
const PAY: AnsweredCall = { key: '1', id: 'call-1', name: 'pay', args: { amount: 7 }, argsChars: 12 };
const ALLOWED = {
  id: 'd-1',
  verdict: 'ALLOW',
  control: 'CONTINUE',
  effect: 'allow',
  cause: { kind: 'ALLOW' },
  message: '',
  bypasses: [],
};
const PENDING = {
  ...ALLOWED,
  ...{ verdict: 'BLOCK', effect: 'ask', cause: { kind: 'HITL_PENDING', approvalId: 'a-1' }, approvalId: 'a-1' },
};

/** Tools of answers, with decisions in the order in which they are asked for; the last one repeats. */
function toolsWith(decisions: readonly object[], concerns: boolean | undefined = true) {
  const clock = fixedClock();
  const asked: AskedTool[] = [];
  const stops: string[] = [];
  const waits: number[] = [];
  const tools = new AnswerTools({
    questions: {
      ask: async (_call, tool) => {
        asked.push(tool);
        return (decisions[asked.length - 1] ?? decisions.at(-1)) as unknown as Decision;
      },
    },
    path: { concerns: () => concerns },
    standing: {
      noteStop: async (_tenantId, runId) => {
        stops.push(runId);
      },
    },
    clock,
    logger: createLogger({ name: 'test', level: 'silent' }),
    pause: async (ms, signal) => {
      signal.throwIfAborted();
      waits.push(ms);
      clock.advance(ms);
    },
  });
  const decide = (isSigned = false, signal = new AbortController().signal) =>
    tools.decide(CALL, [PAY], isSigned, signal);
  return { tools, decide, asked, stops, waits };
}

describe('tool calls of answers', () => {
  it('are held if a rule concerns them, or if that is not known', () => {
    expect(toolsWith([], true).tools.holds(CALL, 'pay')).toBe(true);
    expect(toolsWith([], undefined).tools.holds(CALL, 'pay')).toBe(true);
    expect(toolsWith([], false).tools.holds(CALL, 'pay')).toBe(false);
    expect(toolsWith([], false).tools.holds(CALL, '')).toBe(true);
  });

  it('are asked about by the id of the provider, or by their place', async () => {
    const { tools, asked } = toolsWith([ALLOWED]);
    await tools.decide(CALL, [PAY, { ...PAY, key: '2', id: undefined }], false, new AbortController().signal);
    expect(asked.map(({ callId }) => callId)).toEqual(['call-1', 'gw-1:2']);
  });

  it('that need an approval are asked about again until it is decided', async () => {
    const { decide, asked, waits } = toolsWith([PENDING, PENDING, ALLOWED]);
    expect((await decide()).get('1')).toEqual({ kind: 'allow' });
    expect([asked.length, waits]).toEqual([3, [1_000, 2_000]]);
  });

  it('wait two minutes for an approval, and then say which one', async () => {
    const { decide, waits } = toolsWith([PENDING]);
    expect((await decide()).get('1')).toMatchObject({ kind: 'block', text: expect.stringContaining('approval a-1') });
    const waited = waits.reduce((sum, ms) => sum + ms, 0);
    expect(waited).toBeGreaterThanOrEqual(120_000);
    expect(waited).toBeLessThan(130_000);
  });

  it('are asked about again, for half a minute, while they cannot be decided', async () => {
    const bypasses = [{ ruleId: '*', why: 'unavailable', did: 'block' }];
    const undecided = { ...ALLOWED, verdict: 'BLOCK', effect: 'block', reason: 'unjudged', bypasses };
    expect((await toolsWith([undecided, undecided, ALLOWED]).decide()).get('1')).toEqual({ kind: 'allow' });
    const { decide, waits } = toolsWith([undecided]);
    expect((await decide()).get('1')).toMatchObject({ kind: 'block' });
    const waited = waits.reduce((sum, ms) => sum + ms, 0);
    expect(waited).toBeGreaterThanOrEqual(30_000);
    expect(waited).toBeLessThan(40_000);
  });

  it('do not wait for a client that left', async () => {
    const { decide } = toolsWith([PENDING]);
    const left = new AbortController();
    left.abort(new Error('the client left'));
    await expect(decide(false, left.signal)).rejects.toThrow('the client left');
  });

  it('get changed arguments, unless the provider has signed the answer', async () => {
    const changing = { ...ALLOWED, effect: 'modify', modifiedArgs: { amount: 1 } };
    expect((await toolsWith([changing]).decide()).get('1')).toEqual({ kind: 'change', args: { amount: 1 } });
    expect((await toolsWith([changing]).decide(true)).get('1')).toMatchObject({ kind: 'block' });
  });

  it('end the run for a while if a rule says so, and not if an order does', async () => {
    const ending = { ...ALLOWED, verdict: 'BLOCK', control: 'TERMINATE', effect: 'terminate', message: 'Enough' };
    const byRule = toolsWith([{ ...ending, reason: 'rule' }]);
    await expect(byRule.decide()).rejects.toMatchObject({ refusal: { code: 'agentlens_stopped' } });
    expect(byRule.stops).toEqual(['run-1']);
    const byOrder = toolsWith([{ ...ending, reason: 'order' }]);
    await expect(byOrder.decide()).rejects.toThrow('Enough');
    expect(byOrder.stops).toEqual([]);
  });
});
