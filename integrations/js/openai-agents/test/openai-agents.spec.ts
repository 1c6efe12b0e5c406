import { guard } from '@agentlens/openai-agents';
import * as agents from '@openai/agents';
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';
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

type Agents = typeof agents;

agents.setTracingDisabled(true);

const OBJECT = { type: 'object' as const, properties: {}, required: [], additionalProperties: true as const };

function scripted(script: Script, turns: AgentSpec['turns']) {
  const respond = modelResponder(({ request: { input } }) => {
    const parts = script.next(input);
    const output = parts.flatMap((part, index): agents.AgentOutputItem[] => {
      if (typeof part === 'string') return [assistantMessage(part, { id: `m${index}` })];
      if (part.providerResult === undefined) return [functionCall(part.tool, { ...part.args }, { callId: part.id })];
      const hosted = { type: 'hosted_tool_call' as const, id: part.id, name: part.tool, status: 'completed' as const };
      return [{ ...hosted, arguments: JSON.stringify(part.args), output: part.providerResult }];
    });
    const { input: inputTokens, output: outputTokens } = TOKENS;
    return { output, usage: new agents.Usage({ inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }) };
  });
  return new ScriptedModel(turns.map(() => respond));
}

function tools({ tool }: Agents, specs: readonly ToolSpec[]) {
  return specs.map(({ name, execute }) =>
    tool({
      ...{ name, description: name, parameters: OBJECT, strict: false },
      execute: async (args: unknown, _context: unknown, details?: { signal?: AbortSignal }) =>
        String(await execute?.(args as Record<string, unknown>, details?.signal)),
    }),
  );
}

function agentOf(framework: object, spec: AgentSpec, extra: object = {}) {
  const { Agent } = framework as Agents;
  const script = new Script(spec.turns);
  const model = scripted(script, spec.turns);
  const agent = new Agent({ name: 'agent', model, tools: tools(framework as Agents, spec.tools), ...extra });
  const { ownHooks } = spec;
  if (ownHooks !== undefined) agent.on('agent_tool_start', () => void ownHooks.push('agent_tool_start'));
  return { agent, requests: script.requests };
}

async function outcome(requests: readonly string[], run: () => Promise<string | undefined>): Promise<Outcome> {
  try {
    return { text: (await run()) ?? '', error: undefined, requests };
  } catch (error) {
    return { text: '', error, requests };
  }
}

const driver: Driver = {
  name: 'OpenAI Agents 0.20',
  package: '@agentlens/openai-agents',
  version: '0.20.0',
  framework: agents,
  marks: ['RunState'],
  guard,
  run(framework, spec) {
    const { run } = framework as Agents;
    const { agent, requests } = agentOf(framework, spec);
    const { prompt = 'Go on', signal } = spec;
    return outcome(requests, async () => {
      if (!spec.stream) return (await run(agent, prompt, { signal })).finalOutput;
      const result = await run(agent, prompt, { signal, stream: true });
      for await (const _ of result);
      await result.completed;
      return result.finalOutput;
    });
  },
  nested(framework, { outer, inner }: NestedSpec) {
    const { agent: helper } = agentOf(framework, inner);
    const helperTool = helper.asTool({ toolName: 'helper', toolDescription: 'Helps' });
    const { agent, requests } = agentOf(framework, outer, { tools: [helperTool] });
    return outcome(requests, async () => (await (framework as Agents).run(agent, 'Go on')).finalOutput);
  },
  handOff(framework, { outer, inner }: NestedSpec) {
    const { agent: helper } = agentOf(framework, inner, { name: 'helper' });
    const turns = [[{ id: 'h1', tool: 'transfer_to_helper', args: {} }], ...outer.turns.slice(1)];
    const { agent, requests } = agentOf(framework, { ...outer, turns }, { handoffs: [helper] });
    return outcome(requests, async () => (await (framework as Agents).run(agent, 'Go on')).finalOutput);
  },
  cannot: {
    'passes on a tool that streams its result': 'a tool has one result',
    'follows a change of the model during a run': 'an agent keeps its model during a run',
  },
};

conform(driver);
