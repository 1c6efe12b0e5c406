import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Agent } from '../agent/agent.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { bashTool } from '../tools/builtin/bash.ts';
import { PermissionManager } from './permission-manager.ts';
import { PermissionRule } from './rule.ts';

describe('a rules file', () => {
  it('stores rules for another process', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agent-rules-'));
    const path = join(folder, 'rules.json');
    const rules = [PermissionRule.allowBashPrefix(['git status']), PermissionRule.denyPath('.env', { priority: 3 })];
    await new PermissionManager({ rules }).saveToFile(path);
    expect((await PermissionManager.loadFromFile(path)).rules).toEqual(new PermissionManager({ rules }).rules);
    await rm(folder, { recursive: true });
  });

  it.each([
    ['{', 'list "rules"'],
    ['{"rules": [{}]}', 'rules[0].id'],
    ['{"rules": [{"id": "a", "decision": "maybe"}]}', 'rules[0].decision'],
    ['{"rules": [{"id": "a", "decision": "allow", "matcher": {"kind": "tool-name"}}]}', 'rules[0].matcher.name'],
    ['{"rules": [{"id": "a", "decision": "allow", "matcher": {"kind": "custom"}}]}', 'rules[0].matcher.kind'],
    ['{"version": 9, "rules": []}', 'newer version'],
  ])('names the position of an error: %s', async (text, place) => {
    const folder = await mkdtemp(join(tmpdir(), 'agent-rules-'));
    const path = join(folder, 'rules.json');
    await writeFile(path, text);
    await expect(PermissionManager.loadFromFile(path)).rejects.toThrow(place);
    expect(await readFile(path, 'utf8')).toBe(text);
    await rm(folder, { recursive: true });
  });

  it('remembers the answer "always" for exactly this command', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agent-rules-'));
    const rulesFile = join(folder, 'rules.json');
    const commands = ['git log --oneline', 'git log --oneline', 'git push', 'echo $HOME'];
    const asked: string[] = [];
    const agent = new Agent({
      ...{ id: 'a', taskPrompt: 'x', tools: [bashTool()], rulesFile },
      modelProviders: [
        new ScriptedModel([
          ...commands.map((command) => ({ toolCalls: [{ name: 'bash', input: { command } }] })),
          { text: 'ok' },
        ]),
      ],
      onPermissionRequest: async ({ details = '' }) => {
        asked.push(details);
        return { decision: 'allow', remember: 'always' };
      },
    });
    const result = await agent.run();
    // The host has no shell; the test checks what was asked.
    expect(result.actions.map(({ code }) => code)).toEqual(Array(4).fill('denied_by_host'));
    expect(asked).toEqual(['git log --oneline', 'git push', 'echo $HOME']);
    expect(result.diagnostics.warnings).toEqual([expect.stringContaining('cannot be remembered')]);
    const kept = await PermissionManager.loadFromFile(rulesFile);
    const decide = (command: string) =>
      kept.check('bash', { command }, { sessionId: 's', agentType: 'other' }).decision;
    expect(['git log --oneline', 'git log', 'git push', 'echo $HOME'].map(decide)).toEqual([
      'allow',
      'ask-user',
      'allow',
      'ask-user',
    ]);
    await rm(folder, { recursive: true });
  });
});
