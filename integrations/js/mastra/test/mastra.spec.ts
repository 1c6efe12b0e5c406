import { guard } from '@agentlens/mastra';
import * as mastra from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { MockLanguageModelV2 } from 'ai-v5/test';
import { z } from 'zod';
import { ScriptedAiModels } from '../../conformance/fixtures/scripted-ai-model.ts';
import { conform } from '../../conformance/src/conform.ts';
import type { AgentSpec, Driver, NestedSpec, Outcome, ToolSpec } from '../../conformance/src/driver.ts';

type Mastra = typeof mastra;
type Model = ConstructorParameters<Mastra['Agent']>[0]['model'];

const ANY = z.looseObject({});

function tools(specs: readonly ToolSpec[]) {
  const made = specs.map(({ name, execute }) => {
    const run = async (args: Record<string, unknown>, context: { abortSignal?: AbortSignal }) =>
      execute?.(args, context.abortSignal);
    return [name, createTool({ id: name, description: name, inputSchema: ANY, execute: run })] as const;
  });
  return Object.fromEntries(made);
}

function agentOf(framework: object, spec: AgentSpec, extra: object = {}) {
  const { Agent } = framework as Mastra;
  const models = new ScriptedAiModels(MockLanguageModelV2, 'v2', spec.turns);
  const [model, other] = [models.model(), models.model('other')];
  const { ownHooks, swapModel } = spec;
  const swap = {
    id: 'swap',
    processInputStep: ({ stepNumber }: { stepNumber: number }) => (stepNumber > 0 ? { model: other as never } : {}),
  };
  const agent = new Agent({
    ...{
      id: 'agent',
      name: 'agent',
      instructions: 'Help',
      model: model as Model,
      maxRetries: 0,
      tools: tools(spec.tools),
    },
    ...(ownHooks === undefined ? {} : { hooks: { afterToolCall: () => void ownHooks.push('afterToolCall') } }),
    ...(swapModel ? { inputProcessors: [swap] } : {}),
    ...extra,
  });
  return { agent, requests: models.script.requests };
}

async function outcome(
  requests: readonly string[],
  run: () => Promise<{ text: string; error?: unknown }>,
): Promise<Outcome> {
  try {
    const { text, error } = await run();
    return { text, error, requests };
  } catch (error) {
    return { text: '', error, requests };
  }
}

const driver: Driver = {
  name: 'Mastra 1',
  package: '@agentlens/mastra',
  version: '1.71.0',
  framework: mastra,
  marks: ['MessageList'],
  guard,
  run(framework, spec) {
    const { agent, requests } = agentOf(framework, spec);
    const { prompt = 'Go on', signal, ownHooks } = spec;
    const options = {
      ...{ maxSteps: 5, abortSignal: signal, modelSettings: { maxRetries: 0 } },
      // Hooks of a call are put over those of the agent.
      ...(ownHooks === undefined ? {} : { hooks: { beforeToolCall: () => void ownHooks.push('beforeToolCall') } }),
    };
    return outcome(requests, async () => {
      if (!spec.stream) {
        const { text, error } = await agent.generate(prompt, options);
        return { text, error };
      }
      const { fullStream } = await agent.stream(prompt, options);
      let text = '';
      let error: unknown;
      for await (const part of fullStream) {
        if (part.type === 'step-start') text = '';
        if (part.type === 'text-delta') text += part.payload.text;
        if (part.type === 'error') error = part.payload.error;
        if (part.type === 'tripwire') error = part.payload;
      }
      return { text, error };
    });
  },
  nested(framework, { outer, inner }: NestedSpec) {
    const { agent: helper } = agentOf(framework, inner, { id: 'helper', name: 'helper', description: 'Helps' });
    const turns = outer.turns.map((turn) =>
      turn instanceof Error
        ? turn
        : turn.map((part) =>
            typeof part === 'string' ? part : { ...part, tool: 'agent-helper', args: { prompt: 'Write it' } },
          ),
    );
    const { agent, requests } = agentOf(framework, { ...outer, turns }, { agents: { helper } });
    return outcome(requests, async () => agent.generate('Go on', { maxSteps: 5 }));
  },
  cannot: {
    'passes on a tool that streams its result': 'a tool has one result',
    'guards an agent after a hand-off': 'the framework has no hand-offs; networks are not covered',
  },
};

conform(driver);
