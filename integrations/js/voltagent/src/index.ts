import type { AgentLensClient } from '@agentlens/sdk';
import { Guard, type GuardOptions, type RunScope, replaceExports } from '@agentlens/sdk/adapter';
import { guardModel } from './guard-model.ts';
import type { AgentClass, AgentSettings, CallOptions, Hooks } from './shapes.ts';
import { guardHooks } from './tool-hooks.ts';

export type { GuardOptions };

const ADAPTER = { name: '@agentlens/voltagent', framework: '@voltagent/core' };

/** The tool by which an agent calls a sub-agent. */
const isDelegation = (tool: string) => tool === 'delegate_task';

/**
 * The exports of `@voltagent/core` 2, guarded: Agent.
 *
 * @throws TypeError if an option is misspelt, or the module has no Agent
 */
export function guard<const M extends object>(lens: AgentLensClient, voltagent: M, options?: GuardOptions): M {
  const marks = ['Agent', 'createTool'];
  const knownAs = '@voltagent/core 2';
  const guard = Guard.forFramework(lens, { adapter: ADAPTER, framework: voltagent, marks, options, knownAs });
  const { Agent } = voltagent as { Agent?: AgentClass };
  return replaceExports(voltagent, { Agent: Agent && guardAgentClass(guard, Agent) });
}

/** Hooks alone, for an agent that is made elsewhere; call it inside of `withRun`. */
export function toolHooks(lens: AgentLensClient, options?: GuardOptions): Hooks {
  return guardHooks(new Guard(lens, ADAPTER, options, { seesModels: false }));
}

function guardAgentClass(guard: Guard, Original: AgentClass): AgentClass {
  const guarded = (options: CallOptions, scope: RunScope): CallOptions => ({
    ...options,
    ...(options.model === undefined ? {} : { model: guardModel(guard, options.model) }),
    abortSignal: scope.signalWith(options.abortSignal),
  });

  const generating = async (
    input: unknown,
    options: CallOptions,
    original: (options: CallOptions) => Promise<unknown>,
  ): Promise<unknown> => {
    const parent = guard.parentByOpenCall(isDelegation);
    return guard.within(input, (scope) => original(guarded(options, scope)), undefined, parent);
  };

  const streaming = async (
    input: unknown,
    options: CallOptions,
    original: (options: CallOptions) => Promise<unknown>,
  ): Promise<unknown> => {
    const scope = await guard.open(input, guard.parentByOpenCall(isDelegation));
    const end = async (error: unknown) => {
      if (error !== undefined) scope.noteFailure(error);
      await scope.end();
    };
    const hooks: Hooks = {
      ...options.hooks,
      onEnd: async (given) => {
        await options.hooks?.onEnd?.(given);
        await end(given.error);
      },
    };
    const given = guarded(options, scope);
    // The framework reports an abort after the reader is gone, if at all.
    const aborted = () => void end(new DOMException('The stream was aborted', 'AbortError'));
    given.abortSignal?.addEventListener('abort', aborted, { once: true });
    try {
      return await scope.enter(() => original({ ...given, hooks }));
    } catch (error) {
      await end(error);
      throw scope.errorFor(error);
    }
  };

  return class GuardedAgent extends Original {
    constructor(settings: AgentSettings) {
      const { model, hooks } = settings;
      super({ ...settings, model: guardModel(guard, model), hooks: guardHooks(guard, hooks) });
    }

    /** Names, functions and lists of fallbacks are models only here. */
    override async resolveModel(value: unknown, context: unknown): Promise<unknown> {
      return guardModel(guard, await super.resolveModel?.(value, context));
    }

    override generateText(input: unknown, options: CallOptions = {}): Promise<unknown> {
      return generating(input, options, (given) => super.generateText(input, given));
    }

    override generateObject(input: unknown, schema: unknown, options: CallOptions = {}): Promise<unknown> {
      return generating(input, options, (given) => super.generateObject(input, schema, given));
    }

    override streamText(input: unknown, options: CallOptions = {}): Promise<unknown> {
      return streaming(input, options, (given) => super.streamText(input, given));
    }

    override streamObject(input: unknown, schema: unknown, options: CallOptions = {}): Promise<unknown> {
      return streaming(input, options, (given) => super.streamObject(input, schema, given));
    }
  };
}
