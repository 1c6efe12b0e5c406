import { guard } from '@agentlens/langchain';
import * as langchain from 'langchain';
import { AIMessage, type BaseMessage, fakeModel } from 'langchain';
import { conform } from '../../conformance/src/conform.ts';
import {
  type AgentSpec,
  type Driver,
  type NestedSpec,
  type Outcome,
  Script,
  TOKENS,
  type ToolSpec,
} from '../../conformance/src/driver.ts';

type LangChain = typeof langchain;

const OBJECT = { type: 'object', properties: {}, additionalProperties: true } as const;
const USAGE = { input_tokens: TOKENS.input, output_tokens: TOKENS.output, total_tokens: TOKENS.input + TOKENS.output };

function answer(script: Script, messages: readonly BaseMessage[]): AIMessage {
  const sent = messages.map((message) => ({ type: message.getType(), content: message.content }));
  const parts = script.next(sent);
  const text = parts.filter((part) => typeof part === 'string').join('');
  const uses = parts.filter((part) => typeof part !== 'string');
  const atProvider = uses.filter(({ providerResult }) => providerResult !== undefined);
  const tool_calls = uses
    .filter(({ providerResult }) => providerResult === undefined)
    .map(({ id, tool: name, args }) => ({ id, name, args: { ...args }, type: 'tool_call' as const }));
  if (atProvider.length === 0) return new AIMessage({ content: text, tool_calls, usage_metadata: USAGE });
  const blocks = atProvider.flatMap(({ id, tool: name, args, providerResult }) => [
    { type: 'server_tool_call' as const, id, name, args: { ...args } },
    {
      type: 'server_tool_call_result' as const,
      toolCallId: id,
      status: 'success' as const,
      output: { text: providerResult },
    },
  ]);
  return new AIMessage({
    contentBlocks: [...blocks, { type: 'text' as const, text }],
    usage_metadata: USAGE,
    response_metadata: { output_version: 'v1' },
  });
}

function scripted(script: Script, turns: AgentSpec['turns']) {
  const model = fakeModel();
  for (const _ of turns) model.respond((messages) => answer(script, messages));
  return model;
}

function tools({ tool }: LangChain, specs: readonly ToolSpec[]) {
  return specs.map(({ name, execute }) =>
    tool(
      async (args, config: { signal?: AbortSignal }) => {
        const result = await execute?.(args as Record<string, unknown>, config.signal);
        return String(result);
      },
      { name, description: name, schema: OBJECT },
    ),
  );
}

function agentOf(framework: object, agent: AgentSpec, given?: ReturnType<typeof tools>) {
  const lc = framework as LangChain;
  const script = new Script(agent.turns);
  const model = scripted(script, agent.turns);
  const { ownHooks, swapModel } = agent;
  const own = [
    lc.createMiddleware({
      name: 'own',
      wrapToolCall: async (request, handler) => {
        ownHooks?.push('wrapToolCall');
        return handler(request);
      },
    }),
  ];
  const other = scripted(script, agent.turns);
  const swap = [
    lc.createMiddleware({
      name: 'swap',
      wrapModelCall: (request, handler) => handler(script.requests.length > 0 ? { ...request, model: other } : request),
    }),
  ];
  const middleware = [...(ownHooks === undefined ? [] : own), ...(swapModel ? swap : [])];
  const made = lc.createAgent({ model, tools: given ?? tools(lc, agent.tools), middleware });
  return { made, requests: script.requests };
}

async function outcome(requests: readonly string[], run: () => Promise<{ messages: BaseMessage[] }>): Promise<Outcome> {
  try {
    const { messages } = await run();
    return { text: messages.at(-1)?.text ?? '', error: undefined, requests };
  } catch (error) {
    return { text: '', error, requests };
  }
}

const input = (prompt = 'Go on') => ({ messages: [{ role: 'user', content: prompt }] });

const driver: Driver = {
  name: 'LangChain 1, LangGraph',
  package: '@agentlens/langchain',
  version: '1.5.14',
  framework: langchain,
  marks: ['createMiddleware'],
  guard,
  run(framework, agent) {
    const { made, requests } = agentOf(framework, agent);
    const config = { signal: agent.signal };
    return outcome(requests, async () => {
      if (!agent.stream) return made.invoke(input(agent.prompt), config);
      let last: { messages: BaseMessage[] } = { messages: [] };
      for await (const state of await made.stream(input(agent.prompt), { ...config, streamMode: 'values' }))
        last = state as { messages: BaseMessage[] };
      return last;
    });
  },
  nested(framework, { outer, inner }: NestedSpec) {
    const lc = framework as LangChain;
    const { made: helper } = agentOf(framework, inner);
    const helperTool: ToolSpec = {
      name: 'helper',
      execute: async (args) => (await helper.invoke(input(String(args.input)))).messages.at(-1)?.text,
    };
    const { made, requests } = agentOf(framework, outer, tools(lc, [helperTool]));
    return outcome(requests, () => made.invoke(input()));
  },
  cannot: {
    'passes on a tool that streams its result': 'a tool has one result',
    'guards an agent after a hand-off': 'createAgent has no hand-offs; an agent as a node of a graph is a run',
  },
};

conform(driver);
