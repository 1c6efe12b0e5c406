import { AgentError, errorInfo, isAgentError } from '../core/agent-error.ts';
import type { DriverEvent } from '../core/agent-event.ts';
import type { OutputChunk } from '../core/input-output.ts';
import { inputHashOf, type Json, toJson } from '../core/json.ts';
import { ToolResult, type ToolResultBlock } from '../core/message.ts';
import { redactStored } from '../core/redact.ts';
import { unfinishedCalls } from '../session/reopen.ts';
import { CallGate, type Decided, refusal } from './call-gate.ts';
import { callSignal, inspectText, type PipelineHost, type PipelineOptions } from './pipeline-host.ts';
import { runTool, stoppedResult } from './run-tool.ts';
import type { ActionResult, Tool, ToolCall } from './tool.ts';

/**
 * The pipeline of every tool call: look up, parse, safety, permission, human, platform, run, check the output. Each
 * call gets exactly one result in the history in every case.
 */
export class ToolPipeline {
  readonly #host: PipelineHost;
  readonly #options: PipelineOptions;
  readonly #gate: CallGate;

  constructor(host: PipelineHost, options: PipelineOptions) {
    this.#host = host;
    this.#options = options;
    this.#gate = new CallGate(host, options);
  }

  /** @throws AgentError that ends the run, after the result is in the history */
  async execute(call: ToolCall): Promise<ActionResult> {
    const [action] = await this.executeAll([call]);
    if (action === undefined) throw new AgentError('agent_failed', 'the call has no result');
    return action;
  }

  /** Runs calls concurrently, or sequentially if the order must be deterministic. Results are in call order. */
  async executeAll(calls: readonly ToolCall[]): Promise<ActionResult[]> {
    const ends: AgentError[] = [];
    const settle = async (call: ToolCall): Promise<ActionResult> => {
      const { action, end } = await this.#settle(call);
      if (end !== undefined) ends.push(end);
      return action;
    };
    const actions: ActionResult[] = [];
    if (this.#host.effects.sequential) for (const call of calls) actions.push(await settle(call));
    else actions.push(...(await Promise.all(calls.map(settle))));
    this.#addToHistory(actions);
    const [end] = ends;
    if (end !== undefined) throw end;
    return actions;
  }

  /**
   * Settles calls that a crash left open: completed results come from the journal, started calls are repeated only if
   * the tool is idempotent, and calls that did not start are run now.
   */
  async settleOpenCalls(): Promise<ActionResult[]> {
    const open = unfinishedCalls(this.#host.session);
    if (open.length === 0) return [];
    const actions = new Map<string, ActionResult>();
    const calls: ToolCall[] = [];
    for (const { kind, call, ...rest } of open) {
      const mayRun = kind === 'planned' || (kind === 'started' && this.#gate.tool(call.name)?.idempotent === true);
      if (mayRun) calls.push(call);
      else actions.set(call.id, actionOf(call, 'result' in rest ? rest.result : INTERRUPTED, 0));
    }
    this.#addToHistory([...actions.values()]);
    return [...actions.values(), ...(calls.length === 0 ? [] : await this.executeAll(calls))];
  }

  async #settle(call: ToolCall): Promise<{ readonly action: ActionResult; readonly end?: AgentError }> {
    const { effects, session } = this.#host;
    const startedAt = effects.now();
    let end: AgentError | undefined;
    let result: ToolResult;
    let input = call.input;
    try {
      const decided = await this.#gate.decide(call);
      if (decided.go) {
        input = decided.input;
        result = await this.#run(call, decided);
      } else {
        result = decided.result;
        end = decided.ends ?? this.#gate.countRefusal(call, result);
      }
    } catch (error) {
      // A recording that does not match ends the replay; it is not a tool result.
      if (isAgentError(error, 'replay_mismatch')) throw error;
      const stopped = this.#host.turnSignal.aborted || this.#host.run.signal.aborted;
      const info = errorInfo(error, stopped ? 'aborted' : 'tool_failed');
      result = ToolResult.error(info.code, info.message);
      if (isAgentError(error, 'tool_fatal', 'run_ended', 'limit_reached')) end = error;
    }
    const action = actionOf({ ...call, input }, result, effects.now() - startedAt);
    session.journal({ type: 'tool-ended', toolUseId: call.id, name: call.name, result });
    const stored = redactStored(result);
    this.#host.emit({ type: 'tool-end', toolUseId: call.id, name: call.name, result: stored, isError: result.isError });
    return end === undefined ? { action } : { action, end };
  }

  async #run(call: ToolCall, { tool, input, value }: Extract<Decided, { go: true }>): Promise<ToolResult> {
    const { effects, session, run, emit } = this.#pieces();
    const { id: toolUseId } = call;
    const signal = callSignal(this.#host);
    if (signal.aborted) return stoppedResult(signal);
    session.journal({ type: 'tool-started', toolUseId, name: tool.name, inputHash: inputHashOf(tool.name, input) });
    if (tool.category !== 'read') await session.flush({ sync: true });
    emit({ type: 'tool-start', toolUseId, name: tool.name, input: redactStored(input) });
    this.#host.move({ type: 'call-begins', call: { toolUseId, name: tool.name } });
    const startedAt = effects.now();
    try {
      // A sub-agent is not an effect: its work has its own effects.
      const isEffect = tool.category !== 'agent';
      const context = this.#host.context.withToolUseId(toolUseId, {
        signal,
        ...(isEffect ? { effects: effects.inside } : {}),
      });
      const execute = () => run.within(() => runTool(tool, value, context));
      const ran = isEffect ? await effects.perform('tool', { name: tool.name, input }, execute) : await execute();
      return await this.#check(call, tool, input, ran, effects.now() - startedAt);
    } finally {
      if (!this.#host.turnSignal.aborted) this.#host.move({ type: 'call-ended', toolUseId });
    }
  }

  async #check(call: ToolCall, tool: Tool, input: Json, ran: ToolResult, durationMs: number): Promise<ToolResult> {
    const output = toJson(ran.output, this.#options.safety.maxChars);
    const safe = await inspectText(this.#host, this.#options.safety, output, 'tool-output', tool.name);
    const result: ToolResult = safe.ok
      ? { ...ran, output: safe.value }
      : refusal('withheld', `The result is withheld: ${safe.reason}.`);
    const { category, name } = tool;
    const outcome = {
      toolUseId: call.id,
      name,
      category,
      input,
      output: result.output,
      durationMs,
      failed: ran.isError,
    };
    const verdict = await this.#host.run.afterTool(outcome);
    if (!safe.ok && safe.terminate) throw new AgentError('run_ended', safe.reason);
    if (verdict.verdict !== 'block') return result;
    if (verdict.terminate) throw new AgentError('run_ended', verdict.reason);
    return refusal('withheld', verdict.reason);
  }

  #addToHistory(actions: readonly ActionResult[]): void {
    if (actions.length === 0) return;
    this.#options.onActions?.(actions);
    const content = actions.map(
      ({ toolUseId, toolId, output, isError }): ToolResultBlock => ({
        ...{ type: 'tool_result', toolUseId, name: toolId, content: output, isError },
      }),
    );
    this.#host.session.addMessage({ role: 'user', content });
  }

  #pieces() {
    const { context, effects, session, run } = this.#host;
    return { context, effects, session, run, emit: (event: OutputChunk | DriverEvent) => this.#host.emit(event) };
  }
}

const INTERRUPTED: ToolResult = ToolResult.error(
  'interrupted',
  'The call was interrupted. It may have happened, or a part of it: check before repeating it.',
);

function actionOf(
  { id, name, input }: ToolCall,
  { output, isError, code }: ToolResult,
  durationMs: number,
): ActionResult {
  return {
    type: 'tool',
    toolId: name,
    toolUseId: id,
    input,
    output,
    isError,
    ...(code === undefined ? {} : { code }),
    durationMs,
  };
}
