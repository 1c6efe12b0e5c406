import type { Guard } from '@agentlens/sdk/adapter';
import { modelMiddleware } from './guard-model.ts';
import { guardMiddleware, guardTools } from './guard-tools.ts';
import type { Agent, CallConfig, CreateAgent } from './shapes.ts';

/** `createAgent` whose agents are guarded in every graph that includes them. Each call of an agent is a run. */
export function guardCreateAgent(guard: Guard, original: CreateAgent): CreateAgent {
  return (settings) => {
    const { tools, middleware = [] } = settings;
    const agent = original({
      ...settings,
      tools: guardTools(guard, tools),
      middleware: [...middleware.map((own) => guardMiddleware(guard, own)), modelMiddleware(guard)],
    });
    return guardAgent(guard, agent);
  };
}

function guardAgent(guard: Guard, agent: Agent): Agent {
  const invoke = agent.invoke.bind(agent);
  const stream = agent.stream.bind(agent);
  const streamEvents = agent.streamEvents.bind(agent);
  return Object.assign(agent, {
    invoke: (state: unknown, config?: CallConfig) =>
      guard.within(state, (scope) => invoke(state, withSignal(config, scope.signal))),
    stream: async (state: unknown, config?: CallConfig) =>
      ReadableStream.from(await guard.started(state, (scope) => stream(state, withSignal(config, scope.signal)))),
    streamEvents: (state: unknown, config?: CallConfig, options?: unknown) => {
      // Version 3 answers no stream but an object of many; its tools need a run of the user's own.
      if (config?.version === 'v3' && options === undefined) return streamEvents(state, config);
      const events = (signal: AbortSignal) => streamEvents(state, withSignal(config, signal), options);
      return ReadableStream.from(guard.streaming(state, ({ signal }) => events(signal)[Symbol.asyncIterator]()));
    },
  });
}

function withSignal(config: CallConfig = {}, stop: AbortSignal): CallConfig {
  return { ...config, signal: config.signal ? AbortSignal.any([config.signal, stop]) : stop };
}
