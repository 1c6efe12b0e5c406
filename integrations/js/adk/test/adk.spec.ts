import { guard } from '@agentlens/adk';
import * as adk from '@google/adk';
import { z } from 'zod';
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

type Adk = typeof adk;

adk.setLogLevel(adk.LogLevel.ERROR);

class ScriptedLlm extends adk.BaseLlm {
  readonly #script: Script;

  constructor(script: Script) {
    super({ model: 'scripted' });
    this.#script = script;
  }

  override async *generateContentAsync(request: adk.LlmRequest): AsyncGenerator<adk.LlmResponse, void> {
    const parts = this.#script.next(request.contents).map((part) => {
      if (typeof part === 'string') return { text: part };
      return { functionCall: { id: part.id, name: part.tool, args: { ...part.args } } };
    });
    yield {
      content: { role: 'model', parts },
      usageMetadata: { promptTokenCount: TOKENS.input, candidatesTokenCount: TOKENS.output },
    };
  }

  override connect(): Promise<adk.BaseLlmConnection> {
    return Promise.reject(new Error('not live'));
  }
}

function tools({ FunctionTool }: Adk, specs: readonly ToolSpec[]) {
  return specs.map(({ name, execute }) => {
    const parameters = z.object({ path: z.string().optional() });
    const run = async (args: Record<string, unknown>, context?: { abortSignal?: AbortSignal }) =>
      String(await execute?.(args, context?.abortSignal));
    return new FunctionTool({ name, description: name, parameters, execute: run });
  });
}

function agentOf(framework: object, spec: AgentSpec, extra: object = {}) {
  const module = framework as Adk;
  const script = new Script(spec.turns);
  const { ownHooks } = spec;
  const agent = new module.LlmAgent({
    ...{ name: 'agent', description: 'Helps', model: new ScriptedLlm(script), tools: tools(module, spec.tools) },
    ...(ownHooks === undefined ? {} : { beforeToolCallback: () => void ownHooks.push('beforeToolCallback') }),
    ...extra,
  });
  return { agent, requests: script.requests };
}

async function play(
  framework: object,
  agent: adk.LlmAgent,
  requests: readonly string[],
  { prompt = 'Go on', signal, stream }: Partial<AgentSpec> = {},
): Promise<Outcome> {
  const module = framework as Adk;
  const runner = new module.InMemoryRunner({ agent });
  const { appName } = runner;
  const session = await runner.sessionService.createSession({ appName, userId: 'ada' });
  let text = '';
  let error: unknown;
  try {
    const events = runner.runAsync({
      ...{ userId: 'ada', sessionId: session.id, newMessage: { role: 'user', parts: [{ text: prompt }] } },
      runConfig: { streamingMode: stream ? adk.StreamingMode.SSE : adk.StreamingMode.NONE },
      abortSignal: signal,
    });
    for await (const { content, errorMessage } of events) {
      if (errorMessage !== undefined) error = new Error(errorMessage);
      const spoken = (content?.parts ?? []).map((part) => part.text ?? '').join('');
      if (content?.role === 'model' && spoken !== '') text = spoken;
    }
    return { text, error, requests };
  } catch (thrown) {
    return { text, error: thrown, requests };
  }
}

const driver: Driver = {
  name: 'Google ADK 2',
  package: '@agentlens/adk',
  version: '2.0.0',
  framework: adk,
  marks: ['AgentTool'],
  guard,
  run(framework, spec) {
    const { agent, requests } = agentOf(framework, spec);
    return play(framework, agent, requests, spec);
  },
  nested(framework, { outer, inner }: NestedSpec) {
    const { agent: helper } = agentOf(framework, inner, { name: 'helper' });
    const helperTool = new adk.AgentTool({ agent: helper });
    const { agent, requests } = agentOf(framework, outer, { tools: [helperTool] });
    return play(framework, agent, requests);
  },
  handOff(framework, { outer, inner }: NestedSpec) {
    const { agent: helper } = agentOf(framework, inner, { name: 'helper' });
    const turns = [[{ id: 'h1', tool: 'transfer_to_agent', args: { agentName: 'helper' } }], ...outer.turns.slice(1)];
    const { agent, requests } = agentOf(framework, { ...outer, turns }, { subAgents: [helper] });
    return play(framework, agent, requests);
  },
  cannot: {
    'passes on a tool that streams its result': 'a tool has one result',
    'follows a change of the model during a run': 'an agent keeps its model during a run',
    'observes a tool that the provider runs, without requesting a decision': "the model's answer names no call of them",
  },
};

conform(driver);
