// A step (a model call that calls one validated tool) compared with a bare loop, the AI SDK and OpenAI's Agents SDK, in
// one process.
import {
  AgentRuntime,
  AgentSession,
  Message,
  PermissionManager,
  PermissionRule,
  ToolRegistry,
  tool,
  toolUsesOf,
} from '../src/index.ts';
import { compare, table } from './measure.mjs';
import { aiSdk, openAiAgents, SCHEMA, STEPS } from './peers.mjs';

const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, total: 0, children: 0 };
const call = (id) => ({ type: 'tool_use', id, name: 'add', input: { a: 1, b: 2 } });
const stub = {
  async call(messages) {
    const step = messages.length >> 1;
    const content = step < STEPS ? [call(`c${step}`)] : [{ type: 'text', text: 'done' }];
    return { model: 'stub', content, stopReason: 'end_turn', usage, costUsd: 0 };
  },
};

async function bare() {
  const messages = [Message.user('go')];
  for (;;) {
    const { content } = await stub.call(messages);
    messages.push(Message.assistant(content));
    const calls = toolUsesOf(content);
    if (calls.length === 0) return;
    messages.push(
      Message.user(
        calls.map(({ id, input: { a, b } }) => ({
          type: 'tool_result',
          toolUseId: id,
          name: 'add',
          content: a + b,
          isError: false,
        })),
      ),
    );
  }
}

const registry = new ToolRegistry([
  tool({ name: 'add', description: 'Adds.', category: 'read', input: SCHEMA, execute: ({ a, b }) => a + b }),
]);
const permissions = new PermissionManager({ tools: registry, rules: [PermissionRule.allowCategory('read')] });
const runtime = new AgentRuntime();
async function ours() {
  const handle = runtime.spawn(
    new AgentSession('bench'),
    async (internals) => {
      const input = await internals.receive();
      internals.session.addMessage(Message.user(input.content));
      const llm = internals.model(stub);
      const executor = internals.tools(registry, permissions);
      for (;;) {
        const { content } = await llm.call(internals.session.getHistory(), { tools: registry.getDefinitions() });
        internals.session.addMessage(Message.assistant(content));
        const calls = toolUsesOf(content);
        if (calls.length === 0) return;
        await executor.executeAll(calls);
      }
    },
    { limits: { maxSteps: 100 } },
  );
  const reading = (async () => {
    for await (const _event of handle.subscribe({ from: 'start' }));
  })();
  handle.sendInput('go');
  await handle.finished;
  await reading;
  if (handle.state.kind !== 'done') throw new Error(JSON.stringify(handle.state));
}

const variants = { 'bare loop': bare, 'AgentLens runtime': ours, 'AI SDK 7': aiSdk, 'OpenAI Agents JS': openAiAgents };
const perTurn = await compare(variants, { perRound: 40 });
const perStep = Object.fromEntries(Object.entries(perTurn).map(([name, us]) => [name, us / (STEPS + 1)]));
const beside = (name) => perStep['AgentLens runtime'] / perStep[name];
table({
  ...Object.fromEntries(Object.entries(perStep).map(([name, us]) => [`${name}, µs per step`, us])),
  'runtime / AI SDK 7': beside('AI SDK 7'),
  'runtime / OpenAI Agents JS': beside('OpenAI Agents JS'),
});
