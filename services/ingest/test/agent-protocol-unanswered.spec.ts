import { controlOrdered, type Decision, decisionDecided } from '@agentlens/contracts';
import { eventually } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { anOrder, type Protocol, QUESTION, RUN, startProtocol } from './agent-protocol.ts';

let protocol: Protocol;
beforeEach(async () => {
  protocol = await startProtocol();
});
afterEach(() => protocol.close());

const events = () => protocol.gateway.events();

describe('when the evaluator does not answer', () => {
  const decisions: Decision[] = [];
  beforeEach(async () => {
    decisions.length = 0;
    await protocol.gateway.bus.watch(decisionDecided, { from: 'new' }, ({ value }) => decisions.push(value));
  });

  it('allows by the fail mode with a complete decision, and records the bypass', async () => {
    await protocol.leave();
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, callId: 'call-1' });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        verdict: 'ALLOW',
        control: 'CONTINUE',
        cause: { kind: 'ALLOW' },
        message: expect.any(String),
        evaluatedRules: [],
        bypasses: [{ ruleId: '*', why: 'unavailable', did: 'allow' }],
      },
    });
    await eventually(() => {
      expect(events()).toMatchObject([{ sourceType: 'decision.bypassed', runId: RUN, toolName: 'search' }]);
      expect(decisions).toMatchObject([{ runId: RUN, verdict: 'ALLOW', bypasses: [{ did: 'allow' }] }]);
    });
  });

  it('blocks if the tenant is configured so, and records that bypass too', async () => {
    await protocol.leave();
    const key = protocol.gateway.keys.cautious;
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, callId: 'call-1' }, { key });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        ...{ verdict: 'BLOCK', control: 'CONTINUE', cause: { kind: 'LOCKDOWN' }, evaluatedRules: [] },
        bypasses: [{ ruleId: '*', why: 'unavailable', did: 'block' }],
      },
    });
    await eventually(() => {
      expect(events()).toMatchObject([{ sourceType: 'decision.bypassed', payload: { verdict: 'BLOCK' } }]);
      expect(decisions).toMatchObject([{ tenantId: 'cautious', verdict: 'BLOCK', bypasses: [{ did: 'block' }] }]);
    });
  });

  it('answers within the deadline of the question if the evaluator hangs', async () => {
    const held = Promise.withResolvers<Partial<Decision>>();
    protocol.answer(() => held.promise);
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, deadlineMs: 20 });
    expect(answer).toMatchObject({ status: 200, body: { verdict: 'ALLOW' } });
    held.resolve({});
  });

  it('still blocks what an operator stopped', async () => {
    await protocol.gateway.bus.publish(controlOrdered, anOrder());
    await protocol.leave();
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, QUESTION);
    expect(answer.body).toMatchObject({
      verdict: 'BLOCK',
      control: 'TERMINATE',
      cause: { kind: 'LOCKDOWN', lockdownId: 'order-1' },
    });
    const other = await protocol.call('POST', '/v1/runs/other/evaluate', QUESTION);
    expect(other.body.verdict).toBe('ALLOW');
  });

  it('treats an invalid answer as no answer', async () => {
    protocol.answer(() => ({ verdict: 'MAYBE' as 'ALLOW' }));
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, QUESTION);
    expect(answer).toMatchObject({ status: 200, body: { verdict: 'ALLOW', evaluatedRules: [] } });
  });
});
