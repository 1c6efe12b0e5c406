import { sha256Hex } from '@agentlens/contracts';
import { afterAll, describe, expect, it } from '@jest/globals';
import { bus, call, named, serviceIn } from './decision-pipeline.testing.ts';

afterAll(() => bus.close());

describe('a call', () => {
  const twice = { conditionType: 'max_calls', conditionConfig: { tools: ['*'], max: 2 }, actionType: 'block' };

  it('is counted once, however often the agent asks about it', async () => {
    const { ask } = serviceIn({ rules: [twice] });
    for (const callId of ['a', 'a', 'b', 'a']) expect((await ask({ callId })).verdict).toBe('ALLOW');
    expect((await ask({ callId: 'c' })).verdict).toBe('BLOCK');
  });

  it('is counted in its run, regardless of the agent named', async () => {
    const { ask } = serviceIn({ rules: [twice] });
    for (const [agentId, verdict] of Object.entries({ first: 'ALLOW', second: 'ALLOW', third: 'BLOCK' })) {
      expect((await ask({ agentId, callId: agentId })).verdict).toBe(verdict);
    }
  });

  it('without an id is identified by its request and arguments, or counted as another call', async () => {
    const { ask } = serviceIn({ rules: [twice] });
    for (let i = 0; i < 3; i++) expect((await ask({ requestId: 'r1' })).verdict).toBe('ALLOW');
    expect((await ask({ requestId: 'r1', args: { q: 2 } })).verdict).toBe('ALLOW');
    expect((await ask()).verdict).toBe('BLOCK');
  });

  const perRun = twice;
  const perAgent = {
    ...twice,
    conditionConfig: { tools: ['*'], max: 2, per: 'agent', windowMinutes: 60 },
  };
  const reused = { callId: 'call_0' };

  it.each([
    ['in its run', perRun],
    ['in a window of its agent', perAgent],
  ])('is identified by its id and arguments, counted %s', async (_, rule) => {
    const { ask } = serviceIn({ rules: [rule] });
    const verdicts: string[] = [];
    for (let q = 0; q < 8; q++) verdicts.push((await ask({ ...reused, args: { q } })).verdict);
    expect(verdicts).toEqual(['ALLOW', 'ALLOW', ...Array.from({ length: 6 }, () => 'BLOCK')]);
    expect((await ask({ ...reused, args: { q: 0 } })).verdict).toBe('ALLOW');
    expect((await ask({ ...reused, args: { q: 0 }, tool: { name: 'other', tags: [] } })).verdict).toBe('BLOCK');
  });

  it.each([
    ['in its run', perRun],
    ['in a window of its agent', perAgent],
  ])('is a new call after its end, even with the same id and arguments, counted %s', async (_, rule) => {
    const { ask, service } = serviceIn({ rules: [rule] });
    for (const verdict of ['ALLOW', 'ALLOW', 'BLOCK', 'BLOCK']) {
      expect((await ask(reused)).verdict).toBe(verdict);
      await service.drain();
      if (verdict === 'ALLOW') for (let n = 0; n < 2; n++) await ask({ ...reused, phase: 'tool.after', result: 'ok' });
      await service.drain();
    }
  });

  it.each([
    ['in its run', perRun],
    ['in a window of its agent', perAgent],
  ])('that was blocked is counted once it is allowed, %s', async (_, rule) => {
    const forbidding = { conditionType: 'signal', conditionConfig: { key: 'k', operator: 'eq', value: 'no' } };
    const { ask, service } = serviceIn({ rules: [rule, { ...forbidding, actionType: 'block' }] });
    for (const args of [{ q: 1 }, { q: 2 }]) {
      expect((await ask({ ...reused, args, tags: { k: 'no' } })).verdict).toBe('BLOCK');
      await service.drain();
      expect((await ask({ ...reused, args })).verdict).toBe('ALLOW');
    }
    expect((await ask({ callId: 'another' })).verdict).toBe('BLOCK');
  });

  it('whose arguments a rule changed is a new call after its end', async () => {
    const changing = { conditionType: 'tool_name', conditionConfig: { value: '*' }, actionType: 'modify_arguments' };
    const changes = { ...changing, actionConfig: { set: { q: 7 } } };
    const { ask, service, state } = serviceIn({ rules: [perRun, { ...perAgent, id: 'window' }, changes] });
    for (const verdict of ['ALLOW', 'ALLOW', 'BLOCK']) {
      expect((await ask(reused)).verdict).toBe(verdict);
      await service.drain();
      if (verdict === 'ALLOW') await ask({ ...reused, args: { q: 7 }, phase: 'tool.after', result: 'ok' });
      await service.drain();
    }
    const calls = await state.calls.read({ tenantId: 'acme', runId: 'run' });
    expect(calls.map(({ status }) => status)).toEqual(['completed', 'completed']);
  });

  it('reports its usage once, and the next call with the same id reports its own', async () => {
    const used = { conditionType: 'metric_window', actionType: 'block' };
    const config = { metric: 'sent', aggregate: 'sum', scope: 'agent', windowMinutes: 60, operator: 'gte', value: 2 };
    const { ask, service } = serviceIn({ rules: [{ ...used, conditionConfig: config }] });
    for (const verdict of ['ALLOW', 'ALLOW', 'BLOCK']) {
      expect((await ask(reused)).verdict).toBe(verdict);
      await service.drain();
      const report = { ...reused, phase: 'tool.after', result: 'ok', metrics: { sent: 1 } } as const;
      if (verdict === 'ALLOW') for (let n = 0; n < 2; n++) await ask(report);
      await service.drain();
    }
  });

  it('does not count if it is blocked', async () => {
    const { ask, service, state } = serviceIn({ rules: [twice, { ...named('rm'), actionType: 'block' }] });
    for (let i = 0; i < 5; i++) expect((await ask(call('rm'))).verdict).toBe('BLOCK');
    await service.drain();
    expect(await state.calls.read({ tenantId: 'acme', runId: 'run' })).toEqual([]);
    expect((await ask({ callId: 'a' })).verdict).toBe('ALLOW');
  });

  it('is the same call in the after phase, with its result and duration', async () => {
    const { ask, service, state } = serviceIn({ rules: [twice] });
    await ask();
    await service.drain();
    await ask({ phase: 'tool.after', result: 'ok', metrics: { duration_ms: 12 } });
    expect(await state.calls.read({ tenantId: 'acme', runId: 'run' })).toMatchObject([
      { toolName: 'search', status: 'completed', durationMs: 12, resultHash: sha256Hex('"ok"') },
    ]);
  });
});
