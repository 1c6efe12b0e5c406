import { aTrigger } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { actionTools } from '../action-tools.testing.ts';
import { pauseAgent } from './pause-agent.ts';

describe('pause_agent', () => {
  it("pauses the agent with the rule's message as the reason", async () => {
    const tools = actionTools();
    const trigger = aTrigger();
    expect(await pauseAgent.execute({ message: 'stop' }, trigger, tools)).toMatchObject({ kind: 'delivered' });
    expect(tools.orders).toEqual([
      { order: 'pause', tenantId: 'acme', agentId: 'agent-1', triggerId: trigger.id, reason: 'stop' },
    ]);
  });

  it("uses the trigger's message if the rule has none", async () => {
    const tools = actionTools();
    await pauseAgent.execute({}, aTrigger({ message: 'why' }), tools);
    expect(tools.orders[0]).toMatchObject({ reason: 'why' });
  });
});
