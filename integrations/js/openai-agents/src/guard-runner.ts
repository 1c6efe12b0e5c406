import type { Guard } from '@agentlens/sdk/adapter';
import { guardModel, guardProvider } from './guard-model.ts';
import type { Agent, AgentClass, RunnerClass, RunnerSettings, RunOptions, RunResult } from './shapes.ts';

/** The class of runners each call of which is a run. */
export function guardRunnerClass(guard: Guard, Original: RunnerClass, GuardedAgent?: AgentClass): RunnerClass {
  return class GuardedRunner extends Original {
    constructor(settings?: RunnerSettings) {
      super(settings);
      const { model, modelProvider } = this.config;
      this.config = {
        ...this.config,
        model: guardModel(guard, model),
        ...(modelProvider === undefined ? {} : { modelProvider: guardProvider(guard, modelProvider) }),
      };
    }

    override run(agent: Agent, input: unknown, options: RunOptions = {}): Promise<RunResult> {
      const { name } = agent;
      if (GuardedAgent !== undefined && !(agent instanceof GuardedAgent))
        guard.warn(`the agent ${name} was not made with the guarded Agent: its tools are not guarded`);
      const run = (stop: AbortSignal) => {
        const signal = options.signal ? AbortSignal.any([options.signal, stop]) : stop;
        return super.run(agent, input, { ...options, signal });
      };
      return options.stream ? streamed(guard, input, run) : guard.within(input, ({ signal }) => run(signal), statusOf);
    }
  };
}

/** A stream is answered when it begins; the run ends when it does. */
async function streamed(
  guard: Guard,
  input: unknown,
  run: (stop: AbortSignal) => Promise<RunResult>,
): Promise<RunResult> {
  const scope = await guard.open(input);
  const end = async (error: unknown) => {
    if (error !== undefined && error !== null) scope.noteFailure(error);
    await scope.end();
  };
  try {
    const result = await scope.enter(() => run(scope.signal));
    void (result.completed ?? Promise.resolve()).then(
      () => (statusOf(result) === 'success' ? end(result.error) : scope.end('interrupted')),
      end,
    );
    return result;
  } catch (error) {
    await end(error);
    throw scope.errorFor(error);
  }
}

/** Of a run that waits for the approval of a tool in the framework's own way. */
function statusOf({ interruptions }: RunResult): 'success' | 'interrupted' {
  return interruptions?.length ? 'interrupted' : 'success';
}
