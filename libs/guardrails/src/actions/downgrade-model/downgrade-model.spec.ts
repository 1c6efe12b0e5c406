import { aTrigger } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { actionTools } from '../action-tools.testing.ts';
import { downgradeModel } from './downgrade-model.ts';

describe('downgrade_model', () => {
  it('overrides the model of the agent', async () => {
    const tools = actionTools();
    const trigger = aTrigger({ message: 'too dear' });
    expect(await downgradeModel.execute({ targetModel: 'small' }, trigger, tools)).toMatchObject({ kind: 'delivered' });
    expect(tools.orders).toEqual([
      {
        order: 'overrideModel',
        tenantId: 'acme',
        agentId: 'agent-1',
        triggerId: trigger.id,
        reason: 'too dear',
        model: 'small',
      },
    ]);
  });

  it.each([{}, { targetModel: ' ' }, { target_model: 'small' }])('rejects %j', (bad) =>
    expect(downgradeModel.config.safeParse(bad).success).toBe(false),
  );
});
