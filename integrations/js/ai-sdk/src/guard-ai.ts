import type { AgentLensClient } from '@agentlens/sdk';
import { Guard, type GuardOptions, replaceExports } from '@agentlens/sdk/adapter';
import { guardAgentClass } from './guard-agent.ts';
import { guardCall, guardStream } from './guard-functions.ts';
import { guardModel } from './guard-model.ts';
import type { SettingsGuard } from './guard-settings.ts';
import { guardTools } from './guard-tools.ts';
import type { AiAgentClass, AiFunction, AiModule, Dialect, Tools } from './shapes.ts';

type Exports = AiModule & Readonly<Record<string, unknown>>;

/** The AI SDK's exports with guarded ones in their place. */
export function guardAi<M extends object>(lens: AgentLensClient, ai: M, dialect: Dialect, options?: GuardOptions): M {
  const module = ai as Exports;
  const guard = guardOf(lens, module, dialect, options);
  const host: SettingsGuard = { guard, ai: module, dialect };
  const call = (name: string, kind: 'text' | 'object') => guardCall(host, module[name] as AiFunction, kind);
  const stream = (name: string, kind: 'text' | 'object') => guardStream(host, module[name] as AiFunction, kind);
  const agent = (name: string) => (name in ai ? guardAgentClass(host, module[name] as AiAgentClass) : undefined);
  return replaceExports(ai, {
    generateText: call('generateText', 'text'),
    streamText: stream('streamText', 'text'),
    generateObject: call('generateObject', 'object'),
    streamObject: stream('streamObject', 'object'),
    ToolLoopAgent: agent('ToolLoopAgent'),
    Experimental_Agent: agent('Experimental_Agent'),
  });
}

/** A guarded model alone, for a loop of one's own inside of `withRun`. */
export function guardedModel<T>(
  lens: AgentLensClient,
  ai: object,
  dialect: Dialect,
  model: T,
  options?: GuardOptions,
): T {
  const guard = guardOf(lens, ai as Exports, dialect, options);
  return guardModel(ai as AiModule, dialect, model, () => Promise.resolve(guard.here())) as T;
}

/** Guarded tools alone, for a loop of one's own inside of `withRun`. */
export function guardedTools<T extends object>(
  lens: AgentLensClient,
  dialect: Dialect,
  tools: T,
  options?: GuardOptions,
): T {
  const guard = guardOf(lens, {}, dialect, options);
  return guardTools(tools as unknown as Tools, () => Promise.resolve(guard.here())) as unknown as T;
}

function guardOf(lens: AgentLensClient, ai: Exports, { major, marks }: Dialect, options: GuardOptions = {}): Guard {
  const adapter = { name: `@agentlens/ai-sdk/v${major}`, framework: 'ai' };
  return Guard.forFramework(lens, { adapter, framework: ai, marks, options, knownAs: `ai ${major}` });
}
