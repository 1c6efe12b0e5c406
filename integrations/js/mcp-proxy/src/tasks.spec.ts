import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Guard } from '@agentlens/sdk/adapter';
import { block, TestPlatform } from '@agentlens/sdk/testing';
import type { Message } from './json-rpc.ts';
import { Session } from './session.ts';

/** A session before the SDK's test platform, with what the proxy itself sends. */
async function open() {
  const platform = new TestPlatform();
  const sent: Message[] = [];
  const lens = await platform.client();
  const guard = new Guard(lens, { name: 'mcp', framework: 'mcp' }, {}, { seesModels: false });
  const session = new Session({
    guard,
    server: 'jobs',
    toClient: () => undefined,
    toServer: (message) => sent.push(message),
  });
  let id = 0;
  const ask = async (method: string, params: Record<string, unknown>, result: Record<string, unknown>) => {
    id++;
    await session.fromClient({ jsonrpc: '2.0', id, method, params });
    return session.fromServer({ jsonrpc: '2.0', id, result });
  };
  const begin = () =>
    ask('tools/call', { name: 'export', arguments: {}, task: {} }, { task: { taskId: 't1', status: 'working' } });
  const ends = async () => {
    await session.end('success');
    await lens.shutdown();
    return platform.eventsOf('tool.result').map(({ data }) => [(data.tool as { name: string }).name, data.outcome]);
  };
  return { platform, session, sent, ask, begin, ends };
}

void describe('a call that a server answers with a task', () => {
  void it('ends with the result that the client collects', async () => {
    const { ask, begin, ends } = await open();
    await begin();
    await ask('tasks/get', { taskId: 't1' }, { taskId: 't1', status: 'completed' });
    const content = [{ type: 'text', text: 'disk full' }];
    assert.deepEqual(await ask('tasks/result', { taskId: 't1' }, { content, isError: true }), { pass: true });
    assert.deepEqual(await ends(), [['jobs.export', 'error']]);
  });

  void it('ends with a status that says that it failed', async () => {
    const { session, begin, ask, ends } = await open();
    await begin();
    const params = { taskId: 't1', status: 'failed', statusMessage: 'disk full' };
    await session.fromServer({ jsonrpc: '2.0', method: 'notifications/tasks/status', params });
    await ask('tasks/get', { taskId: 't1' }, params);
    await ask('tasks/result', { taskId: 't1' }, { content: [], isError: true });
    assert.deepEqual(await ends(), [['jobs.export', 'error']]);
  });

  void it('is a success if the task completed and its result was never collected, and given up otherwise', async () => {
    for (const [status, outcome] of [
      ['completed', 'success'],
      ['working', 'error'],
    ]) {
      const { begin, ask, ends } = await open();
      await begin();
      await ask('tasks/get', { taskId: 't1' }, { taskId: 't1', status });
      assert.deepEqual(await ends(), [['jobs.export', outcome]]);
    }
  });

  void it('withholds a collected result that a rule refuses', async () => {
    const { platform, begin, ask } = await open();
    platform.rule({ phases: ['tool.after'], answer: block('Not this result') });
    await begin();
    const verdict = await ask('tasks/result', { taskId: 't1' }, { content: [] });
    assert.match(JSON.stringify(verdict), /Not this result.*"isError":true/);
  });

  void it('decides about a result of a task that it does not know', async () => {
    const { ask, ends } = await open();
    await ask('tasks/result', { taskId: 'other' }, { content: [] });
    assert.deepEqual(await ends(), [['jobs.tasks.result', 'success']]);
  });
});
