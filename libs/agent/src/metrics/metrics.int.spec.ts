import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Agent } from '../agent/agent.ts';
import { PermissionRule } from '../permissions/rule.ts';
import { ScriptedModel, type ScriptStep } from '../testing/scripted-model.ts';
import { tool } from '../tools/tool.ts';
import { metricsOf, traceTo } from './metrics.ts';

const CANARY = 'sk-ant-api03-canarycanarycanarycanary0123456789ABCDEF';
const echo = tool<{ text: string; fail?: boolean }>({
  ...{ name: 'echo', description: '', input: { type: 'object' } },
  execute: ({ text, fail }) => {
    if (fail === true) throw new Error('no');
    return text;
  },
});
const agent = (steps: readonly ScriptStep[]) =>
  new Agent({
    id: 'a',
    taskPrompt: 'x',
    tools: [echo],
    permissions: [PermissionRule.all('allow')],
    modelProviders: [new ScriptedModel(steps)],
  });
const usage = { inputTokens: 10, outputTokens: 2 };

describe('key figures', () => {
  it('are counted over results', async () => {
    const good = await agent([
      {
        toolCalls: [
          { name: 'echo', input: { text: 'a' } },
          { name: 'echo', input: { text: 'b', fail: true } },
        ],
        usage,
      },
      { text: 'ok', usage },
    ]).run({ seed: 1 });
    const bad = await agent([{ error: 'model_unauthorized' }]).run({ seed: 1 });
    expect(metricsOf([good, bad])).toMatchObject({
      ...{ runs: 2, successRate: 0.5, stepsPerTask: 2, costUsd: 0 },
      tools: { echo: { calls: 2, errors: 1, errorRate: 0.5, latency: { p50: expect.any(Number) } } },
      tokens: { input: 20, output: 4, total: 24, perRun: 12 },
    });
    expect(metricsOf([])).toMatchObject({ runs: 0, successRate: 0, stepsPerTask: 0 });
  });
});

describe('a trace', () => {
  it('contains every event except text deltas, and no secret', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agent-trace-'));
    const path = join(folder, 'trace.jsonl');
    const own = agent([
      { text: `my key is ${CANARY}`, toolCalls: [{ name: 'echo', input: { text: CANARY } }] },
      { text: 'ok' },
    ]);
    const active = own.createSession({ input: `use ${CANARY}` });
    const tracing = traceTo(await active.start(), path, { recordInputs: false });
    const result = await active.run();
    expect(result.success).toBe(true);
    await active[Symbol.asyncDispose]();
    await tracing;
    const text = await readFile(path, 'utf8');
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { seq: number; type: string });
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['model-start', 'text-complete', 'tool-start', 'tool-end', 'done']),
    );
    expect(events.some(({ type }) => type === 'text-delta')).toBe(false);
    expect(text).not.toContain('canarycanary');
    expect(text).toContain('[left out]');
    await rm(folder, { recursive: true });
  });
});
