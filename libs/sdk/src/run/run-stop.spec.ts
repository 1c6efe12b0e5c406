import { describe, expect, it } from '@jest/globals';
import { needApproval, settle, TestPlatform, terminate } from '../testing/index.ts';
import { isAgentStopped } from './agent-stopped.ts';

describe('a run that was ended', () => {
  it('stays ended: later calls get the same refusal without a request', async () => {
    const server = new TestPlatform().rule({ tools: ['rm'], answer: terminate('No more', 'r1') });
    const run = await (await server.client()).startRun();
    expect(run.stopped).toBeUndefined();
    await run.beforeTool('rm', {}, { callId: 'c1' });
    expect(run.stopped).toMatchObject({ control: 'TERMINATE', finalRuleId: 'r1' });
    const asked = server.questions.length;
    expect(await run.beforeTool('ls', { a: 1 }, { callId: 'c2' })).toMatchObject({
      ...{ verdict: 'BLOCK', control: 'TERMINATE', message: 'No more', finalRuleId: 'r1' },
      ...{ callId: 'c2', args: { a: 1 }, source: 'local' },
    });
    await expect(run.beforeLlm([])).rejects.toThrow('No more');
    expect(server.questions).toHaveLength(asked);
  });

  it('ends as interrupted, also if its program reports success', async () => {
    const server = new TestPlatform().rule({ tools: ['rm'], answer: terminate('No more', 'r1') });
    const client = await server.client();
    for (const ending of ['success', 'error', 'interrupted'] as const) {
      const run = await client.startRun();
      await run.beforeTool('rm', {});
      await run.end(ending);
      expect(run.status).toBe('interrupted');
    }
    const run = await client.startRun();
    await run.end();
    expect(run.status).toBe('success');
  });

  it('stays ended after failing closed, even if the server is back', async () => {
    const server = new TestPlatform();
    server.fail('down', (path) => path.endsWith('/evaluate'));
    const run = await (await server.client({ failMode: 'closed' })).startRun();
    await run.beforeTool('t', {});
    server.fail('none');
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE' });
  });

  it('does not include waiting for a human or being paused', async () => {
    const server = new TestPlatform().rule({ tools: ['pay'], answer: needApproval() });
    const run = await (await server.client()).startRun();
    await run.beforeTool('pay', {});
    server.control.pause();
    await settle();
    expect(await run.beforeTool('ls', {})).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE' });
    expect(run.stopped).toBeUndefined();
    server.control.resume();
    await settle();
    expect(await run.beforeTool('ls', {})).toMatchObject({ verdict: 'ALLOW' });
  });

  it('includes a run killed by an operator', async () => {
    const server = new TestPlatform();
    const run = await (await server.client()).startRun();
    server.control.kill(run.id, 'enough');
    await settle();
    expect(run.stopped).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } });
  });

  it('aborts its signal with an error that `isAgentStopped` recognises', async () => {
    const server = new TestPlatform();
    const killed = await (await server.client()).startRun();
    const timed = await (await server.client()).startRun({ runTtlMs: 1_000 });
    server.control.kill(killed.id, 'enough');
    await settle();
    await server.clock.advance(1_001);
    for (const [run, message] of [
      [killed, /the run was stopped: enough/],
      [timed, /the run timed out/],
    ] as const) {
      const thrown = (() => {
        try {
          return run.signal.throwIfAborted();
        } catch (error) {
          return error;
        }
      })();
      expect(isAgentStopped(thrown)).toBe(true);
      expect(thrown).toMatchObject({ message: expect.stringMatching(message), decision: { control: 'TERMINATE' } });
    }
  });

  it('does not happen in shadow mode, even if only this run uses it', async () => {
    const server = new TestPlatform().rule({ answer: terminate() });
    const run = await (await server.client()).startRun({ enforceMode: 'shadow' });
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'ALLOW', shadowed: { verdict: 'BLOCK' } });
    server.control.kill(run.id);
    await settle();
    expect(run.stopped).toBeUndefined();
    expect(run.signal.aborted).toBe(false);
  });

  it('reports the adapter that made it', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const adapter = { name: '@agentlens/ai-sdk/v7', version: '0.1.0', framework: 'ai', frameworkVersion: '7.0.173' };
    await (await client.startRun({ adapter })).end();
    await (await client.startRun()).end();
    expect(server.eventsOf('run.started').map(({ data }) => data.adapter)).toEqual([
      adapter,
      { name: 'agentlens-sdk' },
    ]);
  });
});
