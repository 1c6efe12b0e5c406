import type { AgentLensClient } from '@agentlens/sdk';
import { Guard, type GuardOptions, replaceExports } from '@agentlens/sdk/adapter';
import { guardAgentClass } from './guard-agent.ts';
import { guardRunnerClass } from './guard-runner.ts';
import { guardMakeTool } from './guard-tools.ts';
import type { Agent, AgentClass, MakeTool, Runner, RunnerClass, RunOptions } from './shapes.ts';

export type { GuardOptions };

interface Exports {
  readonly Agent?: AgentClass;
  readonly Runner?: RunnerClass;
  readonly tool?: MakeTool;
}

/**
 * The exports of `@openai/agents`, guarded: Agent, Runner, run and tool.
 *
 * @throws TypeError if an option is misspelt, or the module has none of these exports
 */
export function guard<const M extends object>(lens: AgentLensClient, agents: M, options?: GuardOptions): M {
  const adapter = { name: '@agentlens/openai-agents', framework: '@openai/agents' };
  const marks = ['Agent', 'Runner', 'run', 'tool', 'RunState'];
  const guard = Guard.forFramework(lens, {
    adapter,
    framework: agents,
    marks,
    options,
    knownAs: '@openai/agents 0.20',
  });
  const exports = agents as Exports;
  const GuardedAgent = exports.Agent && guardAgentClass(guard, exports.Agent);
  const GuardedRunner = exports.Runner && guardRunnerClass(guard, exports.Runner, GuardedAgent);
  return replaceExports(agents, {
    Agent: GuardedAgent,
    Runner: GuardedRunner,
    run: GuardedRunner && runBy(GuardedRunner),
    tool: exports.tool && guardMakeTool(exports.tool),
  });
}

/** One runner for all calls, as the framework has one. */
function runBy(GuardedRunner: RunnerClass) {
  let runner: Runner | undefined;
  return (agent: Agent, input: unknown, options?: RunOptions) => {
    runner ??= new GuardedRunner();
    return runner.run(agent, input, options);
  };
}
