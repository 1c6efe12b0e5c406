import type { AgentLensClient } from '@agentlens/sdk';
import { Guard, type GuardOptions, replaceExports } from '@agentlens/sdk/adapter';
import { guardAgentClass } from './guard-agent.ts';
import { requestProcessor } from './processor.ts';
import type { AgentClass, Processor, ToolHooks } from './shapes.ts';
import { guardHooks, WithheldResults } from './tool-hooks.ts';

export type { GuardOptions };

const ADAPTER = { name: '@agentlens/mastra', framework: '@mastra/core' };

/**
 * The exports of `@mastra/core/agent`, guarded: Agent.
 *
 * @throws TypeError if an option is misspelt, or the module has no Agent
 */
export function guard<const M extends object>(lens: AgentLensClient, mastra: M, options?: GuardOptions): M {
  const marks = ['Agent', 'MessageList'];
  const guard = Guard.forFramework(lens, {
    adapter: ADAPTER,
    framework: mastra,
    marks,
    options,
    knownAs: '@mastra/core/agent 1',
  });
  const { Agent } = mastra as { Agent?: AgentClass };
  return replaceExports(mastra, { Agent: Agent && guardAgentClass(guard, Agent) });
}

/** Hooks alone, for an agent that is made elsewhere; call it inside of `withRun`. A result cannot be withheld then. */
export function toolHooks(lens: AgentLensClient, options?: GuardOptions): ToolHooks {
  return guardHooks(new Guard(lens, ADAPTER, options, { seesModels: false }), new WithheldResults());
}

/** The input processor alone: the last of `inputProcessors`. */
export function processor(lens: AgentLensClient, options?: GuardOptions): Processor {
  return requestProcessor(new Guard(lens, ADAPTER, options), () => undefined);
}
