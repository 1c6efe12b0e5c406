import { describe, expect, it } from '@jest/globals';
import { PermissionRule } from '../permissions/rule.ts';
import { Cassette } from '../replay/cassette.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from '../tools/tool.ts';
import { Agent } from './agent.ts';

function tools() {
  const kept = new Map<string, string>();
  const fetched: string[] = [];
  return {
    kept,
    fetched,
    list: [
      tool<{ url: string }>({
        ...{ name: 'fetch', description: 'Fetches a page.', category: 'network' },
        input: {
          type: 'object',
          properties: { url: { type: 'string' } },
          required: ['url'],
          additionalProperties: false,
        },
        execute: async ({ url }) => {
          fetched.push(url);
          return { body: 'release 2 drops the v1 API' };
        },
      }),
      tool<{ key: string; value: string }>({
        ...{ name: 'remember', description: 'Keeps a value.', category: 'memory' },
        input: {
          type: 'object',
          properties: { key: { type: 'string' }, value: { type: 'string' } },
          required: ['key', 'value'],
        },
        execute: async ({ key, value }) => {
          kept.set(key, value);
          return 'kept';
        },
      }),
    ],
  };
}

const script = () =>
  new ScriptedModel([
    { text: 'I look.', toolCalls: [{ name: 'fetch', input: { url: 'https://example.com/notes' } }] },
    { toolCalls: [{ name: 'remember', input: { key: 'notes', value: 'v1 is gone' } }] },
    { text: 'The v1 API is gone.', usage: { inputTokens: 10, outputTokens: 5 } },
  ]);

describe('an agent', () => {
  it('uses two tools in one run and returns a result', async () => {
    const { list, kept, fetched } = tools();
    await using agent = new Agent({
      id: 'reader',
      taskPrompt: 'Summarise the changes that concern the API.',
      tools: list,
      modelProviders: [script()],
      permissions: [PermissionRule.allowTool('fetch'), PermissionRule.allowCategory('memory')],
    });
    const result = await agent.run();
    expect(result.error).toBeUndefined();
    expect(result).toMatchObject({ success: true, result: 'The v1 API is gone.', steps: 3 });
    expect(result.actions.map(({ toolId, isError }) => [toolId, isError])).toEqual([
      ['fetch', false],
      ['remember', false],
    ]);
    expect(fetched).toEqual(['https://example.com/notes']);
    expect(kept.get('notes')).toBe('v1 is gone');
    expect(result.tokenUsage.total).toBe(15);
  });

  it('replays a recording byte by byte without side effects', async () => {
    const { list } = tools();
    const cassette = new Cassette();
    const config = {
      id: 'reader',
      taskPrompt: 'Summarise.',
      permissions: [PermissionRule.all('allow')],
    };
    await using agent = new Agent({ ...config, tools: list, modelProviders: [script()] });
    const recorded = await agent.run({ record: cassette, seed: 7, events: 'inline' });
    expect(recorded.error).toBeUndefined();
    for (let turn = 0; turn < 3; turn++) {
      const replayed = tools();
      await using again = new Agent({ ...config, tools: replayed.list, modelProviders: [new ScriptedModel([])] });
      const result = await again.run({ replay: Cassette.from(JSON.parse(JSON.stringify(cassette))), events: 'inline' });
      expect(JSON.stringify(result)).toBe(JSON.stringify(recorded));
      expect(replayed.fetched).toEqual([]);
    }
  });
});
