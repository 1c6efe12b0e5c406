import type { AgentLensClient } from '@agentlens/sdk';
import { Guard, type GuardOptions, refusalText, replaceExports } from '@agentlens/sdk/adapter';
import { guardCreateAgent } from './guard-agent.ts';
import { modelMiddleware } from './guard-model.ts';
import { guardTools as guarded } from './guard-tools.ts';
import type { CreateAgent, Middleware, ToolCallRequest, ToolHandler } from './shapes.ts';

export type { GuardOptions };

const ADAPTER = { name: '@agentlens/langchain', framework: 'langchain' };

/**
 * The exports of `langchain` 1, guarded: createAgent.
 *
 * @throws TypeError if an option is misspelt, or the module has no createAgent
 */
export function guard<const M extends object>(lens: AgentLensClient, langchain: M, options?: GuardOptions): M {
  const marks = ['createAgent', 'createMiddleware'];
  const guard = Guard.forFramework(lens, {
    adapter: ADAPTER,
    framework: langchain,
    marks,
    options,
    knownAs: 'langchain 1',
  });
  const { createAgent } = langchain as { createAgent?: CreateAgent };
  return replaceExports(langchain, { createAgent: createAgent && guardCreateAgent(guard, createAgent) });
}

/** Tools for a tool node of one's own graph; call the graph inside of `withRun`. */
export function guardTools<T extends readonly unknown[]>(lens: AgentLensClient, tools: T, options?: GuardOptions): T {
  return guarded(new Guard(lens, ADAPTER, options), tools) as T;
}

/**
 * For agents that are made by others, such as deepagents, whose tools come from their middleware: give it as the last of
 * `middleware`, and call the agent inside of `withRun`.
 */
export function middleware(lens: AgentLensClient, options?: GuardOptions): Middleware {
  const guard = new Guard(lens, ADAPTER, options);
  const wrapToolCall = async (request: ToolCallRequest, handler: ToolHandler): Promise<unknown> => {
    const { toolCall, tool } = request;
    const scope = guard.here();
    const { id, name, args } = toolCall;
    // The framework makes the message: a refusal is what a tool in this one's place answers.
    const answering = (text: string) => handler({ ...request, tool: standIn(tool?.name ?? name, text) });
    try {
      return await scope.tools.call(
        { id, name, args },
        (decided) => handler({ ...request, toolCall: { ...toolCall, args: decided } }),
        (decision) => answering(refusalText(decision)),
      );
    } catch (error) {
      if (isControlFlow(error)) throw error;
      // With any wrapToolCall an error would be fatal; without one the model reads this text.
      return answering(`${String(error)}\n Please fix your mistakes.`);
    }
  };
  return { ...modelMiddleware(guard), wrapToolCall };
}

function standIn(name: string, text: string) {
  return { name, invoke: () => Promise.resolve(text) };
}

/** How a graph pauses, and how it is aborted. */
function isControlFlow(error: unknown): boolean {
  const { name, is_bubble_up: bubbles } = error as { name?: unknown; is_bubble_up?: unknown };
  return bubbles === true || name === 'AbortError';
}
