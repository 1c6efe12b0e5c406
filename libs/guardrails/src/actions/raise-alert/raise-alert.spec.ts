import { aTrigger } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { actionTools } from '../action-tools.testing.ts';
import { raiseAlert as action } from './raise-alert.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

describe('raise_alert', () => {
  it('raises an alert with the configured title and message', async () => {
    const tools = actionTools();
    const trigger = aTrigger();
    const config = action.config.parse({ severity: 'critical', title: 'Look', message: 'now' });
    expect(await action.execute(config, trigger, tools)).toEqual({ kind: 'delivered', detail: 'alert raised' });
    expect(tools.orders).toEqual([
      {
        order: 'raise',
        tenantId: 'acme',
        agentId: 'agent-1',
        runId: 'run-1',
        ruleId: 'rule-1',
        triggerId: trigger.id,
        triggeredAt: trigger.triggeredAt,
        severity: 'critical',
        title: 'Look',
        message: 'now',
      },
    ]);
  });

  it("defaults to the rule's name and the trigger's message", async () => {
    const tools = actionTools();
    await action.execute(action.config.parse({}), aTrigger({ message: 'why' }), tools);
    expect(tools.orders[0]).toMatchObject({ severity: 'warn', title: 'Too many errors', message: 'why' });
  });

  it.each([
    ['folded', /open alert/],
    ['held_back', /too many alerts/],
  ] as const)('is delivered if the alert was %s', async (raised, detail) => {
    const outcome = await action.execute(action.config.parse({}), aTrigger(), actionTools(undefined, raised));
    expect(outcome).toEqual({ kind: 'delivered', detail: expect.stringMatching(detail) });
  });

  it('sends no request itself', async () => {
    const tools = actionTools();
    await action.execute(action.config.parse({ webhookUrl: 'https://hooks.example/in' }), aTrigger(), tools);
    expect(tools.requests).toEqual([]);
  });

  it.each([
    { severity: 'loud' },
    { title: '' },
    { message: 'x'.repeat(2001) },
    { webhookUrl: 'ftp://hooks.example' },
    { webhookUrl: 'https://hooks.example', secret: 'hunter2' },
    { secret: SECRET },
    { webhookAlso: ['approval'] },
    { webhookUrl: 'https://hooks.example', webhookAlso: ['rule'] },
    { webhook: 'https://hooks.example' },
  ])('rejects %j', (bad) => expect(action.config.safeParse(bad).success).toBe(false));
});
