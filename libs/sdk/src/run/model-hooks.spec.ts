import { describe, expect, it } from '@jest/globals';
import type { AgentLensOptions } from '../options.ts';
import { TestPlatform } from '../testing/index.ts';
import { AgentStopped } from './agent-stopped.ts';

const EVALUATE = (path: string) => path.endsWith('/evaluate');
const MESSAGES = [{ role: 'user', content: 'hi' }];

async function started(options: Partial<AgentLensOptions> = {}) {
  const server = new TestPlatform();
  const warnings: string[] = [];
  const client = await server.client({ logger: { warn: (message) => warnings.push(message) }, ...options });
  return { server, warnings, client, run: await client.startRun({ runId: 'r' }) };
}

describe('hooks around model calls', () => {
  it('count the tokens of an OpenAI answer and recognise it in the history', async () => {
    const { server, warnings, run } = await started();
    const calls = [{ id: 'call_1', type: 'function', function: { name: 'search', arguments: '{"q":"x"}' } }];
    const message = { role: 'assistant', content: null, tool_calls: calls };
    await run.beforeLlm(MESSAGES);
    await run.afterLlm({
      model: 'gpt-4.1',
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 11, completion_tokens: 3 },
    });
    await run.beforeLlm([...MESSAGES, message, { role: 'tool', content: 'found' }]);
    await run.end('completed');
    expect(server.eventsOf('llm.result')[0]?.data).toMatchObject({
      model: { name: 'gpt-4.1' },
      tokens: { in: 11, out: 3 },
    });
    expect(server.eventsOf('message.raw.created').map(({ data }) => data.role)).toEqual(['user', 'assistant', 'tool']);
    expect(server.runs[0]?.status).toBe('success');
    expect(warnings).toEqual([]);
  });

  it('warn once about what they could not read, and still count the call', async () => {
    const { warnings, client, run } = await started({ breaker: { maxIterations: 2 } });
    for (const _ of [1, 2]) {
      await run.beforeLlm(MESSAGES);
      await run.afterLlm(undefined as never);
    }
    const another = await client.startRun();
    await another.afterLlm(null as never);
    await expect(run.beforeLlm(MESSAGES)).rejects.toThrow(AgentStopped);
    expect(warnings.filter((text) => text.includes('afterLlm could not read'))).toHaveLength(1);
  });

  it('accept a string as messages, and invalid input without throwing', async () => {
    const { server, warnings, run } = await started();
    expect(await run.beforeLlm('hi' as never)).toEqual([{ role: 'user', content: 'hi' }]);
    await run.beforeLlm(undefined as never);
    await run.end();
    expect(server.eventsOf('message.raw.created')[0]?.data).toMatchObject({ role: 'user', content: 'hi' });
    expect(warnings).toHaveLength(1);
  });

  it('reject an invalid estimate locally in any fail mode', async () => {
    for (const failMode of ['open', 'closed'] as const) {
      const { server, run } = await started({ failMode });
      const refused = run.beforeLlm(MESSAGES, { estimate: { tokens: 1, costUsd: Number.NaN } });
      await expect(refused).rejects.toThrow('estimate.costUsd must be 0 or a positive number, not NaN');
      await expect(refused).rejects.toMatchObject({ decision: { source: 'local', control: 'CONTINUE' } });
      expect(server.questions).toEqual([]);
      await run.beforeLlm(MESSAGES, { estimate: { tokens: 1, costUsd: 0 } });
      expect(server.questions).toHaveLength(1);
    }
  });

  it('accept a partial estimate', async () => {
    const server = new TestPlatform();
    const run = await (await server.client()).startRun();
    await run.beforeLlm(MESSAGES, { estimate: { costUsd: 0.5 } });
    await run.beforeLlm(MESSAGES, { estimate: { tokens: 7 } });
    expect(server.questions.map(({ estimate }) => estimate)).toEqual([
      { tokens: 0, costUsd: 0.5 },
      { tokens: 7, costUsd: 0 },
    ]);
  });

  it('only report an invalid estimate in shadow mode', async () => {
    const { server, run } = await started({ enforceMode: 'shadow' });
    await run.beforeLlm(MESSAGES, { estimate: { tokens: -1, costUsd: 0 } });
    await run.end();
    expect(server.eventsOf('llm.decision')[0]?.data).toMatchObject({ verdict: 'BLOCK', enforced: false });
    expect(server.questions).toEqual([]);
  });
});

describe('the end of a run', () => {
  it.each([
    ['failed', 'error'],
    ['timed_out', 'timeout'],
    ['cancelled', 'interrupted'],
  ] as const)('understands %s', async (ending, status) => {
    const { server, run } = await started();
    await run.end(ending);
    expect(server.runs[0]?.status).toBe(status);
  });

  it('does not treat an unknown status as success', async () => {
    const { server, warnings, run } = await started();
    await run.end('splendid' as never);
    expect(server.runs[0]?.status).toBe('error');
    expect(warnings).toEqual([expect.stringContaining('there are success, error, timeout and interrupted')]);
  });
});

describe('a call without a decision', () => {
  it.each([
    ['down', 'unavailable', 'away', 'the platform was away'],
    ['nonsense', 'nonsense', 'nonsense', 'the answer was no decision'],
    [409, 'refused', 'refused', 'the platform refused the question'],
  ] as const)('is recorded in the run, the message and the log: %s', async (how, why, cause, happened) => {
    const { server, warnings, run } = await started();
    server.fail(how, EVALUATE);
    const decision = await run.beforeTool('search', {});
    await run.afterTool('search', {}, 'found');
    expect(decision).toMatchObject({ verdict: 'ALLOW', bypass: why });
    expect(decision.message).toBe(`No decision could be made: ${happened}. Failing open.`);
    server.fail('none');
    await run.end();
    const bypassed = server.eventsOf('decision.bypassed').map(({ data }) => data);
    expect(bypassed).toMatchObject([
      { phase: 'tool.before', why, cause, did: 'allow', callId: decision.callId, tool: { name: 'search' } },
      { phase: 'tool.after', why, cause, did: 'allow' },
    ]);
    expect(warnings).toContain(`agentlens: a call was let through without a decision: ${happened}`);
  });

  it('reports that the platform does not decide model calls', async () => {
    const { server, run } = await started({ failMode: 'closed' });
    server.fail(404, EVALUATE);
    await run.beforeLlm(MESSAGES);
    server.fail('none');
    await run.end();
    expect(server.eventsOf('decision.bypassed')[0]?.data).toMatchObject({ cause: 'unknown_phase', did: 'allow' });
  });

  it('is refused when failing closed, and reports it', async () => {
    const { server, run } = await started({ failMode: 'closed' });
    server.fail('down', EVALUATE);
    expect((await run.beforeTool('search', {})).message).toBe(
      'No decision could be made: the platform was away. Failing closed.',
    );
    server.fail('none');
    await run.end();
    expect(server.eventsOf('decision.bypassed')[0]?.data).toMatchObject({ cause: 'away', did: 'block' });
  });
});
