// An agent whose ten calls each write a line, in a process that the test kills. Arguments: store, log.
import { appendFileSync } from 'node:fs';
import { Agent } from '../agent/agent.ts';
import { tokensOf } from '../core/token-usage.ts';
import type { LLMClient } from '../llm/llm-client.ts';
import { messagesOf } from '../llm/llm-client.ts';
import { PermissionRule } from '../permissions/rule.ts';
import { AgentRuntime } from '../runtime/agent-runtime.ts';
import { tool } from '../tools/tool.ts';
import { FileSessionStore } from './file-session-store.ts';

const [store = '', log = ''] = process.argv.slice(2);
const CALLS = 10;

/** Answers with the next number that is not in the conversation. */
const model: LLMClient = {
  async call(input) {
    const written = messagesOf(input).flatMap(({ content }) =>
      content.filter((block) => block.type === 'tool_use'),
    ).length;
    const call = { type: 'tool_use', id: `call-${written}`, name: 'note', input: { n: written } } as const;
    const content = written < CALLS ? [call] : [{ type: 'text', text: 'all noted' } as const];
    return {
      model: 'counting',
      content,
      stopReason: written < CALLS ? 'tool_use' : 'end_turn',
      usage: tokensOf({}),
      costUsd: 0,
    };
  },
};
const note = tool<{ n: number }>({
  ...{
    name: 'note',
    description: 'Notes a number.',
    category: 'write',
    input: { type: 'object', properties: { n: { type: 'number' } } },
  },
  execute: async ({ n }) => {
    appendFileSync(log, `${n}\n`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return n;
  },
});
const agent = new Agent({
  ...{ id: 'noter', taskPrompt: 'Note ten numbers.', tools: [note], modelProviders: [model], maxSteps: 100 },
  permissions: [PermissionRule.allowTool('note')],
  runtime: new AgentRuntime({ store: new FileSessionStore(store) }),
});
process.stdout.write('ready\n');
const result = await agent.run({ sessionId: 'crashing' });
process.stdout.write(`${JSON.stringify({ success: result.success, result: result.result, error: result.error })}\n`);
