import { guard } from '@agentlens/strands';
import * as strands from '@strands-agents/sdk';
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

type Strands = typeof strands;

const USAGE = {
  inputTokens: TOKENS.input,
  outputTokens: TOKENS.output,
  totalTokens: TOKENS.input + TOKENS.output,
};

class ScriptedModel extends strands.Model {
  readonly #script: Script;

  constructor(script: Script) {
    super();
    this.#script = script;
  }

  override updateConfig(): void {}

  override getConfig() {
    return { modelId: 'scripted' };
  }

  override async *stream(messages: strands.Message[]): AsyncIterable<strands.ModelStreamEvent> {
    const parts = this.#script.next(messages.map(({ role, content }) => ({ role, content })));
    yield new strands.ModelMessageStartEvent({ type: 'modelMessageStartEvent', role: 'assistant' });
    for (const part of parts) {
      const isText = typeof part === 'string';
      const start = isText ? undefined : { type: 'toolUseStart' as const, name: part.tool, toolUseId: part.id };
      yield new strands.ModelContentBlockStartEvent({ type: 'modelContentBlockStartEvent', start });
      const delta = isText
        ? { type: 'textDelta' as const, text: part }
        : { type: 'toolUseInputDelta' as const, input: JSON.stringify(part.args) };
      yield new strands.ModelContentBlockDeltaEvent({ type: 'modelContentBlockDeltaEvent', delta });
      yield new strands.ModelContentBlockStopEvent({ type: 'modelContentBlockStopEvent' });
    }
    const stopReason = parts.some((part) => typeof part !== 'string') ? 'toolUse' : 'endTurn';
    yield new strands.ModelMessageStopEvent({ type: 'modelMessageStopEvent', stopReason });
    yield new strands.ModelMetadataEvent({ type: 'modelMetadataEvent', usage: USAGE });
  }
}

function tools({ tool }: Strands, specs: readonly ToolSpec[], signal?: AbortSignal) {
  return specs.map(({ name, parts, execute }) => {
    const about = { name, description: name, inputSchema: z.looseObject({}) };
    if (parts !== undefined)
      return tool({
        ...about,
        callback: async function* (args: Record<string, unknown>) {
          let last = '';
          for await (const part of parts(args)) {
            last = part;
            yield part;
          }
          return last;
        },
      });
    const callback = async (args: Record<string, unknown>) => String(await execute?.(args, signal));
    return tool({ ...about, callback });
  });
}

function agentOf(framework: object, spec: AgentSpec, extra: object = {}) {
  const module = framework as Strands;
  const script = new Script(spec.turns);
  const [model, other] = [new ScriptedModel(script), new ScriptedModel(script)];
  const { ownHooks, swapModel } = spec;
  const own: strands.Plugin = {
    name: 'own',
    initAgent(agent) {
      agent.addHook(module.BeforeToolCallEvent, () => void ownHooks?.push('BeforeToolCallEvent'));
      if (swapModel)
        agent.addMiddleware(module.InvokeModelStage, async function* (context, next) {
          return yield* next(script.requests.length > 0 ? { ...context, model: other } : context);
        });
    },
  };
  const agent = new module.Agent({
    ...{ model, tools: tools(module, spec.tools, spec.signal), printer: false, plugins: [own] },
    ...extra,
  });
  return { agent, requests: script.requests };
}

async function outcome(requests: readonly string[], run: () => Promise<strands.AgentResult>): Promise<Outcome> {
  try {
    const { lastMessage } = await run();
    const text = lastMessage.content.map((block) => (block.type === 'textBlock' ? block.text : '')).join('');
    return { text, error: undefined, requests };
  } catch (error) {
    return { text: '', error, requests };
  }
}

const driver: Driver = {
  name: 'Strands 1',
  package: '@agentlens/strands',
  version: '1.19.0',
  framework: strands,
  marks: ['tool'],
  guard,
  run(framework, spec) {
    const { agent, requests } = agentOf(framework, spec);
    const { prompt = 'Go on', signal } = spec;
    const options = { cancelSignal: signal };
    return outcome(requests, async () => {
      if (!spec.stream) return agent.invoke(prompt, options);
      const stream = agent.stream(prompt, options);
      for (;;) {
        const step = await stream.next();
        if (step.done) return step.value;
      }
    });
  },
  nested(framework, { outer, inner }: NestedSpec) {
    const { agent: helper } = agentOf(framework, inner, { name: 'helper', description: 'Helps' });
    const { agent, requests } = agentOf(framework, outer, { tools: [helper.asTool({ name: 'helper' })] });
    return outcome(requests, () => agent.invoke('Go on'));
  },
  cannot: {
    'observes a tool that the provider runs, without requesting a decision': 'the framework shows none of them',
    'guards an agent after a hand-off': 'a swarm hands over between runs; its nodes are runs of their own',
  },
};

conform(driver);
