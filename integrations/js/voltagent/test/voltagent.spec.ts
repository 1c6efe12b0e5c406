// Before the framework is loaded.
import '../../conformance/fixtures/unref-intervals.ts';
import { guard } from '@agentlens/voltagent';
import * as voltagent from '@voltagent/core';
import { createPinoLogger } from '@voltagent/logger';
import { MockLanguageModelV3 } from 'ai/test';
import { z } from 'zod';
import { ScriptedAiModels } from '../../conformance/fixtures/scripted-ai-model.ts';
import { conform } from '../../conformance/src/conform.ts';
import type { AgentSpec, Driver, NestedSpec, Outcome, ToolSpec } from '../../conformance/src/driver.ts';

type VoltAgent = typeof voltagent;
type Model = ConstructorParameters<VoltAgent['Agent']>[0]['model'];

const ANY = z.looseObject({});
const logger = createPinoLogger({ level: 'silent' });

function tools({ createTool }: VoltAgent, specs: readonly ToolSpec[]) {
  return specs.map(({ name, parts, execute }) => {
    const about = { name, description: name, parameters: ANY };
    if (parts !== undefined)
      return createTool({
        ...about,
        execute: async function* (args: Record<string, unknown>) {
          yield* parts(args);
        },
      });
    const run = async (args: Record<string, unknown>, options?: { toolContext?: { abortSignal?: AbortSignal } }) =>
      execute?.(args, options?.toolContext?.abortSignal);
    return createTool({ ...about, execute: run });
  });
}

function agentOf(framework: object, spec: AgentSpec, extra: object = {}) {
  const module = framework as VoltAgent;
  const models = new ScriptedAiModels(MockLanguageModelV3, 'v3', spec.turns);
  const { ownHooks } = spec;
  const agent = new module.Agent({
    ...{ name: 'agent', instructions: 'Help', model: models.model() as Model, tools: tools(module, spec.tools) },
    ...{ logger, maxRetries: 0, memory: false },
    ...(ownHooks === undefined ? {} : { hooks: { onToolEnd: async () => void ownHooks.push('onToolEnd') } }),
    ...extra,
  });
  const other = models.model('other');
  return { agent, other, requests: models.script.requests };
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
  name: 'VoltAgent 2',
  package: '@agentlens/voltagent',
  version: '2.10.0',
  framework: voltagent,
  marks: ['createTool'],
  guard,
  run(framework, spec) {
    const { agent, requests } = agentOf(framework, spec);
    const { prompt = 'Go on', signal, ownHooks } = spec;
    const options = {
      ...{ maxSteps: 5, abortSignal: signal, maxRetries: 0 },
      ...(ownHooks === undefined ? {} : { hooks: { onToolStart: async () => void ownHooks.push('onToolStart') } }),
    };
    return outcome(requests, async () => {
      if (!spec.stream) return { text: (await agent.generateText(prompt, options)).text };
      const { fullStream } = await agent.streamText(prompt, options);
      let text = '';
      let error: unknown;
      for await (const part of fullStream) {
        if (part.type === 'start-step') text = '';
        if (part.type === 'text-delta') text += part.text;
        if (part.type === 'error') error = part.error;
      }
      return { text, error };
    });
  },
  nested(framework, { outer, inner }: NestedSpec) {
    const { agent: helper } = agentOf(framework, inner, { name: 'helper', purpose: 'Helps' });
    const args = { task: 'Write it', targetAgents: ['helper'] };
    const turns = outer.turns.map((turn) =>
      turn instanceof Error
        ? turn
        : turn.map((part) => (typeof part === 'string' ? part : { ...part, tool: 'delegate_task', args })),
    );
    const { agent, requests } = agentOf(framework, { ...outer, turns }, { subAgents: [helper] });
    return outcome(requests, async () => ({ text: (await agent.generateText('Go on', { maxSteps: 5 })).text }));
  },
  subAgentTool: 'delegate_task',
  cannot: {
    'follows a change of the model during a run': 'an agent keeps its model during a run',
    'guards an agent after a hand-off': 'the framework has no hand-offs besides delegation',
  },
};

conform(driver);
