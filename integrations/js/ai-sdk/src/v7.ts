import type { AgentLensClient } from '@agentlens/sdk';
import type { GuardOptions } from '@agentlens/sdk/adapter';
import { guardAi, guardedModel, guardedTools } from './guard-ai.ts';
import type { Dialect } from './shapes.ts';

const V7: Dialect = {
  major: 7,
  middleware: { specificationVersion: 'v4' },
  endCallback: 'onEnd',
  agentSteps: 20,
  marks: ['ToolLoopAgent', 'isStepCount', 'registerTelemetry'],
};

export type { GuardOptions };

/**
 * The exports of `ai` 7, guarded: generateText, streamText, generateObject, streamObject and ToolLoopAgent.
 *
 * @throws TypeError if an option is misspelt, or the module has none of these exports
 */
export function guard<const M extends object>(lens: AgentLensClient, ai: M, options?: GuardOptions): M {
  return guardAi(lens, ai, V7, options);
}

/** One model, guarded, for a loop of your own inside of `withRun`. */
export function guardModel<T>(lens: AgentLensClient, ai: object, model: T, options?: GuardOptions): T {
  return guardedModel(lens, ai, V7, model, options);
}

/** A set of tools, guarded, for a loop of your own inside of `withRun`. */
export function guardTools<T extends object>(lens: AgentLensClient, tools: T, options?: GuardOptions): T {
  return guardedTools(lens, V7, tools, options);
}
