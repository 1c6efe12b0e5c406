import type { AgentLensClient } from '@agentlens/sdk';
import type { GuardOptions } from '@agentlens/sdk/adapter';
import { guardAi, guardedModel, guardedTools } from './guard-ai.ts';
import type { Dialect } from './shapes.ts';

const V5: Dialect = {
  major: 5,
  middleware: { middlewareVersion: 'v2' },
  endCallback: 'onFinish',
  agentSteps: 1,
  marks: ['Experimental_Agent', 'stepCountIs'],
};

export type { GuardOptions };

/**
 * The exports of `ai` 5, guarded: generateText, streamText, generateObject, streamObject and Experimental_Agent.
 *
 * @throws TypeError if an option is misspelt, or the module has none of these exports
 */
export function guard<const M extends object>(lens: AgentLensClient, ai: M, options?: GuardOptions): M {
  return guardAi(lens, ai, V5, options);
}

/** One model, guarded, for a loop of your own inside of `withRun`. */
export function guardModel<T>(lens: AgentLensClient, ai: object, model: T, options?: GuardOptions): T {
  return guardedModel(lens, ai, V5, model, options);
}

/** A set of tools, guarded, for a loop of your own inside of `withRun`. */
export function guardTools<T extends object>(lens: AgentLensClient, tools: T, options?: GuardOptions): T {
  return guardedTools(lens, V5, tools, options);
}
