import type { AgentLensClient } from '@agentlens/sdk';
import { Guard, type GuardOptions, replaceExports } from '@agentlens/sdk/adapter';
import { guardPlugin } from './guard-plugin.ts';
import type { AgentClass, AgentResult, CallOptions, Plugin, StrandsModule } from './shapes.ts';

export type { GuardOptions };

const ADAPTER = { name: '@agentlens/strands', framework: '@strands-agents/sdk' };
const NEEDED = ['ExecuteToolStage', 'InvokeModelStage', 'ToolResultBlock', 'TextBlock'] as const;

/**
 * The exports of `@strands-agents/sdk` 1, guarded: Agent.
 *
 * @throws TypeError if an option is misspelt, or the module lacks what the guard needs
 */
export function guard<const M extends object>(lens: AgentLensClient, strands: M, options?: GuardOptions): M {
  const marks = ['Agent', 'tool'];
  const knownAs = '@strands-agents/sdk 1';
  const guard = Guard.forFramework(lens, { adapter: ADAPTER, framework: strands, marks, options, knownAs });
  const { Agent } = strands as { Agent?: AgentClass };
  return replaceExports(strands, { Agent: Agent && guardAgentClass(guard, Agent, needed(strands)) });
}

/** The plugin alone, for an agent that is made elsewhere; call it inside of `withRun`. */
export function plugin(lens: AgentLensClient, strands: object, options?: GuardOptions): Plugin {
  return guardPlugin(new Guard(lens, ADAPTER, options), needed(strands));
}

function guardAgentClass(guard: Guard, Original: AgentClass, strands: StrandsModule): AgentClass {
  return class GuardedAgent extends Original {
    constructor(settings: ConstructorParameters<AgentClass>[0] = {}) {
      super({ ...settings, plugins: [...(settings.plugins ?? []), guardPlugin(guard, strands)] });
    }

    /** What `invoke` and `asTool` go through. */
    override stream(input: unknown, options: CallOptions = {}): AsyncGenerator<unknown, AgentResult> {
      const stream = (cancelSignal: AbortSignal) => super.stream(input, { ...options, cancelSignal });
      return guard.streaming(input, (scope) => stream(scope.signalWith(options.cancelSignal)), statusOf);
    }
  };
}

/** A cancelled agent does not throw. */
function statusOf({ stopReason }: AgentResult) {
  return stopReason === 'cancelled' || stopReason === 'interrupt' ? 'interrupted' : 'success';
}

function needed(strands: object): StrandsModule {
  const missing = NEEDED.filter((name) => !(name in strands));
  if (missing.length > 0)
    throw new TypeError(`guard: give it ${missing.join(', ')} of the module too, or the whole module`);
  return strands as StrandsModule;
}
