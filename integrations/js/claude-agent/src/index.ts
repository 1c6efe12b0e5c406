import type { AgentLensClient } from '@agentlens/sdk';
import { Guard, type GuardOptions, replaceExports } from '@agentlens/sdk/adapter';
import { QueryGuard } from './query-guard.ts';
import type { Hooks, Query, QueryFunction, QueryInput, SdkMessage } from './shapes.ts';
import { KillableProcess } from './spawn-killable.ts';

export type { GuardOptions };

const ADAPTER = { name: '@agentlens/claude-agent', framework: '@anthropic-ai/claude-agent-sdk' };

/**
 * The exports of `@anthropic-ai/claude-agent-sdk`, guarded: query. Its own tools are decided too, also in sub-agents.
 *
 * @throws TypeError if an option is misspelt, or the module has no query
 */
export function guard<const M extends object>(lens: AgentLensClient, claude: M, options?: GuardOptions): M {
  const marks = ['query', 'createSdkMcpServer', 'HOOK_EVENTS'];
  const knownAs = '@anthropic-ai/claude-agent-sdk 0.3';
  const guard = Guard.forFramework(lens, { adapter: ADAPTER, framework: claude, marks, options, knownAs });
  const { query } = claude as { query?: QueryFunction };
  return replaceExports(claude, { query: query && guardQuery(guard, query) });
}

/**
 * The hooks alone, for a query that is started elsewhere: give them as `options.hooks`, and start it inside of
 * `withRun`. A kill then stops the next call, not the one that goes on.
 */
export function hooks(lens: AgentLensClient, options?: GuardOptions): Hooks {
  const guard = new Guard(lens, ADAPTER, options, { seesModels: false });
  return new QueryGuard(guard, { killed: () => undefined }).hooksWith();
}

function guardQuery(guard: Guard, original: QueryFunction): QueryFunction {
  return (input) => {
    const { prompt, options = {} } = input;
    const process = new KillableProcess(options);
    const aborted = options.abortController?.signal;
    const asked = new QueryGuard(guard, { prompt, killed: () => process.kill(), aborted });
    const query = original({
      ...input,
      options: {
        ...options,
        hooks: asked.hooksWith(options.hooks),
        // Where the tokens of a model call are exact.
        includePartialMessages: true,
        spawnClaudeCodeProcess: process.spawn,
      },
    });
    const messages = observed(query, asked, input);
    return new Proxy(query, {
      get(target, key) {
        const from = key in messages ? messages : target;
        const value: unknown = Reflect.get(from, key, from);
        return typeof value === 'function' ? value.bind(from) : value;
      },
    });
  };
}

/** The messages of a query. The user does not get those he did not ask for. */
async function* observed(
  query: Query,
  asked: QueryGuard,
  { prompt, options }: QueryInput,
): AsyncGenerator<SdkMessage, void> {
  let failure: unknown;
  try {
    for await (const message of query) {
      await asked.message(message);
      if (message.type !== 'stream_event' || options?.includePartialMessages === true) yield message;
    }
    // A session of several prompts goes on with the next one, which is another run.
    if (typeof prompt === 'string') asked.turn?.throwIfStopped();
  } catch (error) {
    failure = error;
    asked.turn?.throwIfStopped();
    throw error;
  } finally {
    await asked.end(failure);
  }
}
