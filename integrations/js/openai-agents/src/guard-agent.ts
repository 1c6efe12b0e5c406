import { type Guard, refusalText, stoppedBy } from '@agentlens/sdk/adapter';
import { guardModel } from './guard-model.ts';
import { noteThrown, ToolGuard } from './guard-tools.ts';
import type { Agent, AgentClass, AgentSettings, Tool } from './shapes.ts';

/** The class of agents whose model and tools are guarded, in every runner. */
export function guardAgentClass(guard: Guard, Original: AgentClass): AgentClass {
  const toolGuard = new ToolGuard(guard);
  const guarded = (settings: AgentSettings): AgentSettings =>
    'model' in settings ? { ...settings, model: guardModel(guard, settings.model) } : settings;

  return class GuardedAgent extends Original {
    static create(settings: AgentSettings): Agent {
      // As the framework does: types of its hand-offs' outputs are known here.
      return new GuardedAgent({ ...settings, handoffOutputTypeWarningEnabled: false });
    }

    constructor(settings: AgentSettings) {
      super(guarded(settings));
    }

    override clone(settings: AgentSettings): Agent {
      // The framework answers an agent of its own class.
      return Object.setPrototypeOf(super.clone(guarded(settings)), GuardedAgent.prototype) as Agent;
    }

    override async getAllTools(...given: readonly unknown[]): Promise<Tool[]> {
      const tools = await super.getAllTools(...given);
      return tools.map((tool) => toolGuard.guarded(tool));
    }

    /** Its runner is the framework's own: the run of the inner agent is begun around it. */
    override asTool(options: unknown): Tool {
      const tool = super.asTool(options);
      const { invoke } = tool;
      if (invoke === undefined) return tool;
      return Object.assign(tool, { invoke: asChild(guard, invoke.bind(tool)) });
    }
  };
}

function asChild(guard: Guard, invoke: NonNullable<Tool['invoke']>): NonNullable<Tool['invoke']> {
  return async (context, input, details) => {
    try {
      return await guard.within(input, () => invoke(context, input, details));
    } catch (error) {
      // The inner agent was stopped; the outer one reads why and goes on.
      const stopped = stoppedBy(error);
      if (stopped === undefined) throw error;
      noteThrown(details, stopped);
      return refusalText(stopped.decision);
    }
  };
}
