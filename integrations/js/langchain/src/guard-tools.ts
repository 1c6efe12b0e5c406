import { type Guard, refusalText } from '@agentlens/sdk/adapter';
import type { CallConfig, Middleware, Tool, ToolNodeCall } from './shapes.ts';

const GUARDED = new WeakSet<object>();

/**
 * A tool whose `invoke` is decided. Around the tool and not around the tool node, so that the framework handles a tool's
 * errors as ever. Tools that the provider runs are plain descriptions, and stay as they are.
 */
export function guardTool(guard: Guard, tool: unknown): unknown {
  if (!isTool(tool) || GUARDED.has(tool)) return tool;
  const invoke = async (input: unknown, config?: CallConfig) => {
    const scope = guard.here();
    const call = isToolCall(input) ? input : undefined;
    const { signal } = config ?? {};
    return scope.tools.call(
      { id: call?.id, name: tool.name, args: call === undefined ? input : call.args },
      (args) => tool.invoke(call === undefined ? args : { ...call, args }, config),
      // A plain text: the framework makes a message of it.
      refusalText,
      { signal, failed },
    );
  };
  const proxy = new Proxy(tool, {
    get: (target, name, receiver) => (name === 'invoke' ? invoke : Reflect.get(target, name, receiver)),
  });
  GUARDED.add(proxy);
  return proxy;
}

export function guardTools(guard: Guard, tools: readonly unknown[] | undefined): readonly unknown[] | undefined {
  return tools?.map((tool) => guardTool(guard, tool));
}

/** Middleware may bring tools of its own. */
export function guardMiddleware(guard: Guard, middleware: Middleware): Middleware {
  if (!middleware.tools?.length) return middleware;
  const descriptors = Object.getOwnPropertyDescriptors(middleware);
  const tools = { value: guardTools(guard, middleware.tools), enumerable: true, configurable: true, writable: true };
  return Object.create(Object.getPrototypeOf(middleware), { ...descriptors, tools }) as Middleware;
}

function failed(result: unknown): unknown {
  const { status, content } = (result ?? {}) as { status?: unknown; content?: unknown };
  return status === 'error' ? content : undefined;
}

function isTool(tool: unknown): tool is Tool {
  return typeof tool === 'object' && tool !== null && typeof (tool as { invoke?: unknown }).invoke === 'function';
}

function isToolCall(input: unknown): input is ToolNodeCall {
  return typeof input === 'object' && input !== null && (input as { type?: unknown }).type === 'tool_call';
}
