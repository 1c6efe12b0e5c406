import type { AgentLensClient } from '@agentlens/sdk';
import type { GuardOptions } from '@agentlens/sdk/adapter';
import { guardAi, guardedModel, guardedTools } from './guard-ai.ts';
import type { Dialect } from './shapes.ts';

const V6: Dialect = {
  major: 6,
  middleware: { specificationVersion: 'v3' },
  endCallback: 'onFinish',
  agentSteps: 20,
  marks: ['ToolLoopAgent', 'stepCountIs'],
};

export type { GuardOptions };

/**
 * The exports of `ai` 6, guarded: generateText, streamText, generateObject, streamObject and ToolLoopAgent.
 *
 * @throws TypeError if an option is misspelt, or the module has none of these exports
 */
export function guard<const M extends object>(lens: AgentLensClient, ai: M, options?: GuardOptions): M {
  return guardAi(lens, ai, V6, options);
}

/** One model, guarded, for a loop of your own inside of `withRun`. */
export function guardModel<T>(lens: AgentLensClient, ai: object, model: T, options?: GuardOptions): T {
  return guardedModel(lens, ai, V6, model, options);
}

/** A set of tools, guarded, for a loop of your own inside of `withRun`. */
export function guardTools<T extends object>(lens: AgentLensClient, tools: T, options?: GuardOptions): T {
  return guardedTools(lens, V6, tools, options);
}
