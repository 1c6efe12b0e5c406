import type { RunStatus } from '@agentlens/sdk';
import type { Guard, ModelCall, RunScope } from '@agentlens/sdk/adapter';
import { requestProcessor, resultProcessor } from './processor.ts';
import type { AgentClass, AgentSettings, CallOptions, Processor, RequestArgs, Result } from './shapes.ts';
import { guardHooks, WithheldResults } from './tool-hooks.ts';

/** The tools by which an agent calls another one. */
const isAgentTool = (tool: string) => tool.startsWith('agent-');

/** The class of agents that are guarded, as supervisors and as sub-agents. */
export function guardAgentClass(guard: Guard, Original: AgentClass): AgentClass {
  const withheld = new WithheldResults();
  const unanswered = new WeakMap<RunScope, { call: ModelCall; model: RequestArgs['model'] }>();
  const processors = {
    request: requestProcessor(guard, (call, model) => unanswered.set(guard.here(), { call, model })),
    result: resultProcessor(guard, withheld),
  };

  /** A model call that failed has no response: it is reported when the loop ends. */
  const failed = async (scope: RunScope, error: unknown): Promise<void> => {
    const { call, model } = unanswered.get(scope) ?? {};
    await call?.failed({ name: model?.modelId ?? 'unknown', provider: model?.provider }, error);
  };

  /** Options of a call are put over those of the agent: they are guarded too, so that they displace nothing. */
  const guarded = (options: CallOptions, scope: RunScope): CallOptions => ({
    ...options,
    abortSignal: scope.signalWith(options.abortSignal),
    ...(options.hooks === undefined ? {} : { hooks: guardHooks(guard, withheld, options.hooks) }),
    ...(options.inputProcessors === undefined
      ? {}
      : { inputProcessors: [...options.inputProcessors, processors.request] }),
    ...(options.outputProcessors === undefined
      ? {}
      : { outputProcessors: [...options.outputProcessors, processors.result] }),
  });

  const generating = async (
    input: unknown,
    options: CallOptions,
    original: (options: CallOptions) => Promise<Result>,
  ): Promise<Result> => {
    const parent = guard.parentByOpenCall(isAgentTool);
    const body = async (scope: RunScope) => {
      try {
        const result = await original(guarded(options, scope));
        if (result.error !== undefined) await failed(scope, result.error);
        return result;
      } catch (error) {
        await failed(scope, error);
        throw error;
      }
    };
    return guard.within(input, body, statusOf, parent);
  };

  const streaming = async (
    input: unknown,
    options: CallOptions,
    original: (options: CallOptions) => Promise<unknown>,
  ): Promise<unknown> => {
    const scope = await guard.open(input, guard.parentByOpenCall(isAgentTool));
    const { onFinish, onError, onAbort } = options;
    const endings: CallOptions = {
      onFinish: async (event) => {
        await onFinish?.(event);
        await scope.end(statusOf(event as Result));
      },
      onError: async (event) => {
        await onError?.(event);
        const { error = event } = event as { error?: unknown };
        await failed(scope, error);
        scope.noteFailure(error);
        await scope.end('error');
      },
      onAbort: async (event) => {
        await onAbort?.(event);
        await scope.end('interrupted');
      },
    };
    try {
      return await scope.enter(() => original({ ...guarded(options, scope), ...endings }));
    } catch (error) {
      await failed(scope, error);
      scope.noteFailure(error);
      await scope.end('error');
      throw scope.errorFor(error);
    }
  };

  return class GuardedAgent extends Original {
    constructor(settings: AgentSettings) {
      const { hooks, inputProcessors, outputProcessors } = settings;
      super({
        ...settings,
        hooks: guardHooks(guard, withheld, hooks),
        inputProcessors: withLast(inputProcessors, processors.request),
        outputProcessors: withLast(outputProcessors, processors.result),
      });
    }

    override generate(input: unknown, options: CallOptions = {}): Promise<Result> {
      return generating(input, options, (given) => super.generate(input, given));
    }

    override resumeGenerate(data: unknown, options: CallOptions = {}): Promise<Result> {
      return generating(data, options, (given) => super.resumeGenerate(data, given));
    }

    override stream(input: unknown, options: CallOptions = {}): Promise<unknown> {
      return streaming(input, options, (given) => super.stream(input, given));
    }

    override resumeStream(data: unknown, options: CallOptions = {}): Promise<unknown> {
      return streaming(data, options, (given) => super.resumeStream(data, given));
    }
  };
}

function withLast(
  own: AgentSettings['inputProcessors'],
  last: Processor,
): NonNullable<AgentSettings['inputProcessors']> {
  if (typeof own !== 'function') return [...(own ?? []), last];
  return async (context) => [...(await own(context)), last];
}

/** An abort does not throw, and a run that waits for an approval of the framework's own is suspended. */
function statusOf({ finishReason, error }: Result): RunStatus {
  if (finishReason === 'aborted' || finishReason === 'suspended' || finishReason === 'tripwire') return 'interrupted';
  return error !== undefined || finishReason === 'error' ? 'error' : 'success';
}
