import type { AgentLensClient, RunStatus } from '@agentlens/sdk';
import { Guard, type GuardOptions, type RunScope, replaceExports } from '@agentlens/sdk/adapter';
import { guardModel } from './guard-model.ts';
import { guardTool } from './guard-tool.ts';
import type { Event, LlmAgentClass, Model, RunnerClass, RunParams, Tool } from './shapes.ts';

export type { GuardOptions };

const ADAPTER = { name: '@agentlens/adk', framework: '@google/adk' };

interface Exports {
  readonly LlmAgent?: LlmAgentClass;
  readonly Runner?: RunnerClass;
  readonly InMemoryRunner?: RunnerClass;
}

/**
 * The exports of `@google/adk` 2, guarded: LlmAgent, Runner and InMemoryRunner.
 *
 * @throws TypeError if an option is misspelt, or the module has none of these exports
 */
export function guard<const M extends object>(lens: AgentLensClient, adk: M, options?: GuardOptions): M {
  const marks = ['LlmAgent', 'Runner', 'AgentTool'];
  const guard = Guard.forFramework(lens, {
    adapter: ADAPTER,
    framework: adk,
    marks,
    options,
    knownAs: '@google/adk 2',
  });
  const { LlmAgent, Runner, InMemoryRunner } = adk as Exports;
  return replaceExports(adk, {
    LlmAgent: LlmAgent && guardAgentClass(guard, LlmAgent),
    Runner: Runner && guardRunnerClass(guard, Runner),
    InMemoryRunner: InMemoryRunner && guardRunnerClass(guard, InMemoryRunner),
  });
}

/** In the agent and not in a plugin: the runner of an agent that is a tool has no plugins. */
function guardAgentClass(guard: Guard, Original: LlmAgentClass): LlmAgentClass {
  return class GuardedLlmAgent extends Original {
    override get canonicalModel(): Model {
      return guardModel(guard, super.canonicalModel);
    }

    override async canonicalTools(...given: readonly unknown[]): Promise<Tool[]> {
      const tools = await super.canonicalTools(...given);
      return tools.map((tool) => guardTool(guard, tool));
    }
  };
}

/** Each invocation is a run; its session and user are the run's. */
function guardRunnerClass(guard: Guard, Original: RunnerClass): RunnerClass {
  return class GuardedRunner extends Original {
    override runAsync(params: RunParams): AsyncGenerator<Event, void> {
      const { userId, sessionId, abortSignal } = params;
      const known = { sessionId, ...(userId === undefined ? {} : { actor: { externalId: userId } }) };
      const run = (scope: RunScope) =>
        watched(super.runAsync({ ...params, abortSignal: scope.signalWith(abortSignal) }), scope);
      const outcome = (): RunStatus => (abortSignal?.aborted ? 'interrupted' : 'success');
      return guard.streaming(params, run, outcome, known);
    }
  };
}

/** A model that fails is an event, not an error. */
async function* watched(events: AsyncGenerator<Event, void>, scope: RunScope): AsyncGenerator<Event, void> {
  for await (const event of events) {
    const { errorCode, errorMessage } = event;
    if (errorCode !== undefined || errorMessage !== undefined) scope.noteFailure(new Error(errorMessage ?? errorCode));
    yield event;
  }
}
