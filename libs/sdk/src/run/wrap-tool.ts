import type { Decision } from '../wire/decision.ts';
import type { ToolInfo } from '../wire/model.ts';
import { AgentStopped, type BlockedResult, blockedResult, ToolBlocked } from './agent-stopped.ts';
import type { Run } from './run.ts';
import type { ApprovalWait, ToolCallOptions } from './run-config.ts';
import { getCurrentRun } from './run-context.ts';

export interface ToolDefinition<A, R> extends ToolInfo {
  execute(args: A): R | Promise<R>;
}

export interface WrapOptions {
  /** Default: the current run. */
  readonly run?: Run;
  /**
   * `return` (default) returns a BlockedResult for the model; `throw` throws ToolBlocked, or AgentStopped if the run
   * ends.
   */
  readonly onBlock?: 'return' | 'throw';
  /**
   * Whether a call that a person has to approve waits for the decision. Default: true. With false, or after its
   * `timeoutMs`, the model learns that the call waits, and the run goes on.
   */
  readonly waitForApproval?: boolean | ApprovalWait;
}

export type GuardedTool<A, R> = (args: A, call?: ToolCallOptions) => Promise<R | BlockedResult>;

/** Defines a typed tool with its name and tags. Pass `toolInfo(tool)` of each to `AgentLens.init`. */
export function defineTool<A, R>(tool: ToolDefinition<A, R>): ToolDefinition<A, R> {
  return Object.freeze({ ...tool });
}

export function toolInfo({ name, description, tags }: ToolInfo): ToolInfo {
  return { name, ...(description === undefined ? {} : { description }), ...(tags === undefined ? {} : { tags }) };
}

/**
 * Wraps a tool: exactly one decision before each call and one report after it; the tool runs only if allowed, with the
 * decided arguments. Its errors are rethrown unchanged.
 */
export function wrapTool<A, R>(tool: ToolDefinition<A, R>, options: WrapOptions = {}): GuardedTool<A, R> {
  return async (args, call = {}) => {
    const run = options.run ?? getCurrentRun();
    // Never run unguarded: a tool outside every run is a bug in the program.
    if (run === undefined) throw new Error(`AgentLens: tool ${tool.name} was called outside of withRun`);
    const about = { ...call, tags: call.tags ?? tool.tags };
    const decision = await allowed(run, tool.name, args, about, options);
    if (decision.verdict === 'BLOCK') return refused(decision, options);
    return execute(run, tool, decision, about, options);
  };
}

async function allowed(
  run: Run,
  name: string,
  args: unknown,
  about: ToolCallOptions,
  { waitForApproval = true }: WrapOptions,
): Promise<Decision> {
  const decision = await run.beforeTool(name, args, about);
  if (decision.cause.kind !== 'HITL_PENDING' || waitForApproval === false) return decision;
  return run.waitForApproval(name, decision, { ...about, ...(waitForApproval === true ? {} : waitForApproval) });
}

function refused(decision: Decision, { onBlock }: WrapOptions): BlockedResult {
  if (onBlock !== 'throw') return blockedResult(decision);
  throw decision.control === 'TERMINATE' ? new AgentStopped(decision) : new ToolBlocked(decision);
}

async function execute<A, R>(
  run: Run,
  tool: ToolDefinition<A, R>,
  decision: Decision,
  about: ToolCallOptions,
  options: WrapOptions,
): Promise<R | BlockedResult> {
  const startedAt = run.elapsed();
  const args = decision.args as A;
  const report = (result: unknown, error?: unknown) =>
    run.afterTool(tool.name, args, result, run.elapsed() - startedAt, error, { ...about, callId: decision.callId });
  let result: R;
  try {
    result = await tool.execute(args);
  } catch (error) {
    await report(undefined, error ?? new Error('the tool threw nothing'));
    throw error;
  }
  // A stream is forwarded as it comes and ends when its reader is done with it.
  if (isAsyncIterable(result)) return reportedStream(result, report) as R;
  const after = await report(result);
  return after.verdict === 'BLOCK' ? refused(after, options) : result;
}

async function* reportedStream(
  stream: AsyncIterable<unknown>,
  report: (result: unknown, error?: unknown) => Promise<Decision>,
): AsyncGenerator<unknown> {
  let items = 0;
  let failure: unknown;
  try {
    for await (const item of stream) {
      items++;
      yield item;
    }
  } catch (error) {
    failure = error ?? new Error('the tool threw nothing');
    throw error;
  } finally {
    await report({ items }, failure);
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
