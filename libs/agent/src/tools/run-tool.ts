import type { AgentContext } from '../core/agent-context.ts';
import { AgentError, isAgentError, messageOf } from '../core/agent-error.ts';
import { isPlainObject, toJson } from '../core/json.ts';
import { ToolResult } from '../core/message.ts';
import type { Tool } from './tool.ts';

const DEFAULT_TOOL_TIMEOUT_MS = 60_000;
const DEFAULT_TRIES = 2;

/**
 * Runs a tool with its timeout, the context's signal and its retry policy. Returns the result; throws only what ends
 * the run.
 *
 * @throws AgentError `tool_fatal`
 */
export async function runTool(tool: Tool, input: unknown, context: AgentContext): Promise<ToolResult> {
  const tries = tool.idempotent === true ? (tool.retry?.tries ?? DEFAULT_TRIES) : 1;
  for (let attempt = 1; ; attempt++) {
    const result = await runOnce(tool, input, context);
    if (!isRetryable(result) || attempt >= tries || context.signal.aborted) return result;
    const { minMs = 200, maxMs = 5_000 } = tool.retry ?? {};
    const waitMs = context.effects.random() * Math.min(maxMs, minMs * 2 ** (attempt - 1));
    await context.effects.sleep(waitMs, context.signal).catch(() => undefined);
  }
}

const RETRYABLE = 'retryable';

function isRetryable({ isError, meta }: ToolResult): boolean {
  return isError && isPlainObject(meta) && meta.failure === RETRYABLE;
}

async function runOnce(tool: Tool, input: unknown, context: AgentContext): Promise<ToolResult> {
  const timeoutMs = tool.timeoutMs ?? DEFAULT_TOOL_TIMEOUT_MS;
  const deadline = new AbortController();
  const signal = AbortSignal.any([context.signal, deadline.signal]);
  const stopped = Promise.withResolvers<never>();
  // There may be no listener left when it is rejected.
  stopped.promise.catch(() => undefined);
  const stop = () => stopped.reject(signal.reason);
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const running = collect(tool, input, context.withToolUseId(context.currentToolUseId ?? '', { signal }));
    running.catch(() => undefined);
    return await Promise.race([running, stopped.promise]);
  } catch (error) {
    if (deadline.signal.aborted) return ToolResult.error('tool_timeout', 'The tool did not answer in time.');
    if (context.signal.aborted) return stoppedResult(context.signal);
    return failureOf(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/** The signal's reason names the cause; the model receives it if it is called again. */
export function stoppedResult(signal: AbortSignal): ToolResult {
  const { reason } = signal;
  if (isAgentError(reason)) return ToolResult.error(reason.code, reason.message);
  return ToolResult.error('aborted', 'The call was stopped; it may have happened in part.');
}

async function collect(tool: Tool, input: unknown, context: AgentContext): Promise<ToolResult> {
  const answer = tool.execute(input, context);
  if (!isAsyncIterable(answer)) return resultOf(await answer);
  const pieces: string[] = [];
  for await (const piece of answer) {
    context.signal.throwIfAborted();
    if (typeof piece !== 'string') return piece;
    pieces.push(piece);
    context.progress(piece);
  }
  return ToolResult.ok(pieces.join(''));
}

function isAsyncIterable(value: unknown): value is AsyncIterable<string | ToolResult> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

function resultOf(value: unknown): ToolResult {
  if (!isToolResult(value)) return ToolResult.ok(toJson(value));
  const { output, meta, ...rest } = value;
  return { ...rest, output: toJson(output), ...(meta === undefined ? {} : { meta: toJson(meta) }) };
}

function isToolResult(value: unknown): value is ToolResult {
  return isPlainObject(value) && typeof value.isError === 'boolean' && 'output' in value;
}

function failureOf(error: unknown): ToolResult {
  const name = error instanceof Error ? error.name : 'Error';
  const message = messageOf(error);
  if (name === 'ToolFatalError') throw new AgentError('tool_fatal', message, { cause: error });
  if (isAgentError(error)) return ToolResult.error(error.code, message, error.info);
  const meta = { failure: name === 'ToolRetryableError' ? RETRYABLE : 'final', error: name };
  return { output: { error: message }, isError: true, code: 'tool_failed', meta };
}
