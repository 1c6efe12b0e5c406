// A step (a model call that calls one validated tool) beside a bare loop and the AI SDK, in one process.
//
//   node --conditions=@agentlens/source libs/agent/bench/steps.mjs
import {
  AgentRuntime,
  AgentSession,
  Message,
  PermissionManager,
  PermissionRule,
  ToolRegistry,
  tool,
  toolUsesOf,
} from '@agentlens/agent';
import { tool as aiTool, jsonSchema, stepCountIs, streamText } from 'ai';
import { compare, table } from './measure.mjs';

const STEPS = 10;
const schema = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
  additionalProperties: false,
};
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
  tool({ name: 'add', description: 'Adds.', category: 'read', input: schema, execute: ({ a, b }) => a + b }),
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

let step = 0;
const v4Usage = { inputTokens: { total: 0 }, outputTokens: { total: 0 } };
const sdkModel = {
  ...{ specificationVersion: 'v4', provider: 'stub', modelId: 'stub', supportedUrls: {} },
  async doStream() {
    const parts =
      step++ < STEPS
        ? [
            { type: 'tool-call', toolCallId: `c${step}`, toolName: 'add', input: '{"a":1,"b":2}' },
            { type: 'finish', finishReason: { unified: 'tool-calls' }, usage: v4Usage },
          ]
        : [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: 'done' },
            { type: 'text-end', id: '1' },
            { type: 'finish', finishReason: { unified: 'stop' }, usage: v4Usage },
          ];
    return { stream: ReadableStream.from(parts) };
  },
};
const sdkTools = {
  add: aiTool({ description: 'Adds.', inputSchema: jsonSchema(schema), execute: ({ a, b }) => a + b }),
};
async function aiSdk() {
  step = 0;
  const result = streamText({ model: sdkModel, prompt: 'go', tools: sdkTools, stopWhen: stepCountIs(100) });
  for await (const _part of result.fullStream);
}

const perTurn = await compare({ 'bare loop': bare, 'AgentLens runtime': ours, 'AI SDK 7': aiSdk }, { perRound: 40 });
const perStep = Object.fromEntries(Object.entries(perTurn).map(([name, us]) => [name, us / (STEPS + 1)]));
table({ ...perStep, 'runtime / AI SDK 7': perStep['AgentLens runtime'] / perStep['AI SDK 7'] });
