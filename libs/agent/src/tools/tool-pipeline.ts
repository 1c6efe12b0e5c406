import type { AgentContext } from '../core/agent-context.ts';
import { AgentError, errorInfo, isAgentError } from '../core/agent-error.ts';
import type { DriverEvent } from '../core/agent-event.ts';
import type { StateEvent } from '../core/agent-state.ts';
import { inputHashOf } from '../core/canonical.ts';
import type { PermissionAnswer } from '../core/input-message.ts';
import { type Json, toJson } from '../core/json.ts';
import type { ToolResultBlock } from '../core/message.ts';
import type { OutputChunk } from '../core/output-chunk.ts';
import { redactStored } from '../core/redact.ts';
import { type ToolInfo, ToolResult } from '../core/tool-result.ts';
import type { Effects } from '../effects/effects.ts';
import type { PermissionManager } from '../permissions/permission-manager.ts';
import { rememberedRule } from '../permissions/remembered.ts';
import type { GuardedRun } from '../platform/run-guard.ts';
import type { SafetyPhase } from '../safety/phases.ts';
import type { SafetyLayer, SafetyRecord } from '../safety/safety-layer.ts';
import type { AgentSession } from '../session/agent-session.ts';
import { unfinishedCalls } from '../session/reopen.ts';
import type { ActionResult, ToolCall } from './action-result.ts';
import { runTool, stoppedResult } from './run-tool.ts';
import type { Tool } from './tool.ts';
import { invalidInput, type ToolRegistry } from './tool-registry.ts';

/** What the pipeline needs of its session. */
export interface PipelineHost {
  readonly session: AgentSession;
  readonly context: AgentContext;
  readonly effects: Effects;
  readonly run: GuardedRun;
  readonly turnSignal: AbortSignal;
  emit(event: OutputChunk | DriverEvent): void;
  move(event: StateEvent): void;
  ask(call: ToolCall, info: ToolInfo): Promise<PermissionAnswer>;
}

export interface PipelineOptions {
  readonly registry: ToolRegistry;
  readonly permissions: PermissionManager;
  readonly safety: SafetyLayer;
  /** False: what would be asked is refused at once. Default true. */
  readonly canAsk?: boolean;
  /** Told of the results of each step, in the order of the calls, also when the run ends with them. */
  readonly onActions?: (actions: readonly ActionResult[]) => void;
  /** Where "always" answers are kept. */
  readonly remember?: (permissions: PermissionManager) => Promise<void>;
}

type Decided =
  | { readonly go: true; readonly tool: Tool; readonly input: Json; readonly value: unknown }
  | { readonly go: false; readonly result: ToolResult; readonly ends?: AgentError };

const MOST_ROUNDS = 4;
const MOST_EQUAL_REFUSALS = 3;
const MOST_INVALID = 3;
const REFUSALS = new Set([
  'denied',
  'no_one_to_ask',
  'denied_by_host',
  'rate_limited',
  'blocked_by_safety',
  'blocked_by_platform',
]);

/**
 * The one way a tool call goes: known, parsed, safe, permitted, asked, decided by the platform, run, checked again.
 * Each call gets exactly one result in the history, whatever happens to it.
 */
export class ToolPipeline {
  readonly #host: PipelineHost;
  readonly #options: PipelineOptions;
  readonly #invalid = new Map<string, number>();
  #lastRefusal = '';
  #equalRefusals = 0;

  constructor(host: PipelineHost, options: PipelineOptions) {
    this.#host = host;
    this.#options = options;
  }

  /** @throws AgentError what ends the run, after the result is in the history */
  async execute(call: ToolCall): Promise<ActionResult> {
    const [action] = await this.executeAll([call]);
    if (action === undefined) throw new AgentError('agent_failed', 'the call has no result');
    return action;
  }

  /** Side by side, or one after another where the order must be the same each time. Results are in the calls' order. */
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
   * Gives the calls that a crash left open their results: what ended is taken from the journal, what had begun is not
   * run again unless its tool may run twice, what had not begun is run now.
   */
  async settleOpenCalls(): Promise<ActionResult[]> {
    const open = unfinishedCalls(this.#host.session);
    if (open.length === 0) return [];
    const actions = new Map<string, ActionResult>();
    const calls: ToolCall[] = [];
    for (const { kind, call, ...rest } of open) {
      const mayRun = kind === 'planned' || (kind === 'started' && this.#tool(call.name)?.idempotent === true);
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
      const decided = await this.#decide(call);
      if (decided.go) {
        input = decided.input;
        result = await this.#run(call, decided);
      } else {
        result = decided.result;
        end = decided.ends ?? this.#countRefusal(call, result);
      }
    } catch (error) {
      // A recording that does not fit ends the replay; it is nobody's answer.
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

  /** Everything before the tool runs. What changes the input goes round again. */
  async #decide(call: ToolCall): Promise<Decided> {
    const tool = this.#tool(call.name);
    if (tool === undefined) return refuse('unknown_tool', `There is no tool "${call.name}".`, { tools: this.#names() });
    if (call.malformed !== undefined) return this.#invalidInput(call, [{ path: '', message: 'the input is no JSON' }]);
    const waitMs = this.#options.safety.takeRate(tool.name, this.#host.effects.now());
    if (waitMs !== null)
      return refuse('rate_limited', 'Too many calls; wait before the next one.', { retryAfterMs: waitMs });
    let input = call.input;
    let approved = '';
    let guarded = '';
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const safe = await this.#inspect(input, 'tool-input', tool.name);
      if (!safe.ok) return this.#blockedBySafety(safe);
      input = safe.value;
      const parsed = await tool.parse(input);
      if (!parsed.ok) return this.#invalidInput(call, parsed.issues);
      const permitted = await this.#permit(call, tool, input, parsed.value, approved);
      if ('result' in permitted) {
        if (guarded !== '') await this.#closeGuarded(call, tool, input);
        return { go: false, result: permitted.result };
      }
      approved = permitted.approved;
      if (permitted.input !== undefined) {
        input = permitted.input;
        continue;
      }
      const hash = inputHashOf(tool.name, input);
      if (guarded === hash) return { go: true, tool, input, value: parsed.value };
      const verdict = await this.#askGuard(call, tool, input);
      if (verdict.verdict === 'block') return this.#blockedByGuard(verdict);
      if (verdict.verdict === 'allow') return { go: true, tool, input, value: parsed.value };
      input = verdict.input;
      guarded = inputHashOf(tool.name, input);
    }
    return refuse('denied', 'The input was changed too often.');
  }

  #tool(name: string): Tool | undefined {
    return this.#options.safety.allowsTool(name) ? this.#options.registry.get(name) : undefined;
  }

  #names(): Json {
    return this.#options.registry.listTools().filter((name) => this.#options.safety.allowsTool(name));
  }

  #invalidInput(call: ToolCall, issues: readonly { readonly path: string; readonly message: string }[]): Decided {
    const count = (this.#invalid.get(call.name) ?? 0) + 1;
    this.#invalid.set(call.name, count);
    const result = invalidInput(issues);
    if (count < MOST_INVALID) return { go: false, result };
    const message = `the model gave ${call.name} an invalid input ${count} times`;
    return {
      go: false,
      result,
      ends: new AgentError('output_invalid', message, { info: issues.map((issue) => ({ ...issue })) }),
    };
  }

  async #permit(
    call: ToolCall,
    tool: Tool,
    input: Json,
    value: unknown,
    approved: string,
  ): Promise<{ readonly result: ToolResult } | { readonly approved: string; readonly input?: Json }> {
    const { context, emit } = this.#pieces();
    const paths = await this.#pathsOf(tool, value);
    const check = this.#options.permissions.check(tool.name, input, context, {
      tool,
      ...(paths === undefined ? {} : { paths }),
    });
    const { decision, ruleId, inputHash } = check;
    const base = { type: 'permission-response', toolUseId: call.id, toolName: tool.name } as const;
    const rule = ruleId === undefined ? {} : { ruleId };
    const by = ruleId === undefined ? 'default' : 'rule';
    if (decision === 'deny') {
      emit({ ...base, decision, by, ...rule });
      this.#tell(call, inputHash, decision, by, ruleId);
      return { result: refusal('denied', `Refused: ${check.reason}.`) };
    }
    if (decision === 'allow' || approved === inputHash) {
      if (decision === 'allow') emit({ ...base, decision, by, ...rule });
      return { approved };
    }
    if (this.#options.canAsk === false) {
      this.#tell(call, inputHash, 'deny', 'default', ruleId);
      emit({ ...base, decision: 'deny', by: 'default', ...rule });
      return { result: refusal('no_one_to_ask', 'A human would have to allow this, and there is none to ask.') };
    }
    const answer = await this.#host.ask({ ...call, input }, tool.getInfo(value));
    this.#tell(call, inputHash, answer.decision, 'human', undefined);
    await this.#remember(tool, input, answer);
    if (answer.decision === 'deny')
      return {
        result: refusal('denied', `A human said no${answer.message === undefined ? '' : `: ${answer.message}`}.`),
      };
    if (answer.editedInput === undefined) return { approved: inputHash };
    return { approved: inputHashOf(tool.name, answer.editedInput), input: answer.editedInput };
  }

  /** Links lead elsewhere: rules see both the path that was given and where it leads. */
  async #pathsOf(tool: Tool, value: unknown): Promise<readonly string[] | undefined> {
    const given = tool.pathsOf?.(value);
    if (given === undefined) return undefined;
    const { files } = this.#host.context.host;
    const real = await Promise.all(given.map((path) => files.resolve(path).catch(() => path)));
    return [...new Set([...given, ...real])];
  }

  async #remember(tool: Tool, input: Json, answer: PermissionAnswer): Promise<void> {
    if (answer.remember === undefined) return;
    const { permissions, remember } = this.#options;
    const rule = rememberedRule(
      tool,
      input,
      { decision: answer.decision, remember: answer.remember },
      this.#host.context,
    );
    if (rule === null) {
      this.#host.emit({
        type: 'warning',
        message: `the answer about ${tool.name} cannot be remembered: it is no plain command`,
      });
      return;
    }
    permissions.remember(rule);
    if (answer.remember === 'always') await remember?.(permissions);
  }

  /** Every local decision of a human or a refusal is in the platform's story too. */
  #tell(call: ToolCall, inputHash: string, decision: 'allow' | 'deny', by: string, ruleId: string | undefined): void {
    const { run, session } = this.#host;
    run.record('permission.decided', {
      tool: { name: call.name },
      callId: call.id,
      decision,
      by,
      ...(ruleId === undefined ? {} : { ruleId }),
    });
    session.journal({ type: 'permission', toolUseId: call.id, toolName: call.name, inputHash, decision, by });
  }

  async #askGuard(call: ToolCall, tool: Tool, input: Json) {
    const { run, emit } = this.#pieces();
    const question = { toolUseId: call.id, name: tool.name, category: tool.category, input, signal: this.#signal() };
    const verdict = await run.beforeTool(question);
    const rule = verdict.ruleId === undefined ? {} : { ruleId: verdict.ruleId };
    const { reason } = verdict;
    emit({ type: 'decision', toolUseId: call.id, toolName: tool.name, verdict: verdict.verdict, reason, ...rule });
    return verdict;
  }

  #blockedByGuard(verdict: { readonly terminate: boolean; readonly reason: string }): Decided {
    if (!verdict.terminate) return refuse('blocked_by_platform', verdict.reason, { nextStep: GO_ON });
    const ends = new AgentError(verdict.reason.includes('limit') ? 'limit_reached' : 'run_ended', verdict.reason);
    return { go: false, result: refusal(ends.code, verdict.reason, { nextStep: STOP }), ends };
  }

  async #closeGuarded(call: ToolCall, tool: Tool, input: Json): Promise<void> {
    const { category, name } = tool;
    await this.#host.run.afterTool({
      toolUseId: call.id,
      name,
      category,
      input,
      output: null,
      durationMs: 0,
      failed: true,
    });
  }

  async #run(call: ToolCall, { tool, input, value }: Extract<Decided, { go: true }>): Promise<ToolResult> {
    const { effects, session, run, emit } = this.#pieces();
    const { id: toolUseId } = call;
    const signal = this.#signal();
    if (signal.aborted) return stoppedResult(signal);
    session.journal({ type: 'tool-started', toolUseId, name: tool.name, inputHash: inputHashOf(tool.name, input) });
    if (tool.category !== 'read') await session.flush({ sync: true });
    emit({ type: 'tool-start', toolUseId, name: tool.name, input: redactStored(input) });
    this.#host.move({ type: 'call-begins', call: { toolUseId, name: tool.name } });
    const startedAt = effects.now();
    try {
      // A sub-agent is no effect: what it does has effects of its own.
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
    const safe = await this.#inspect(output, 'tool-output', tool.name);
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

  #inspect(value: Json, phase: SafetyPhase, toolName: string) {
    const record = ({ phase: at, rule, action, inputHash }: SafetyRecord) => {
      this.#host.emit({ type: 'safety', phase: at, rule, action, inputHash });
      this.#host.run.record('safety.decided', { phase: at, rule, action, tool: { name: toolName }, inputHash });
    };
    return this.#options.safety.inspect(value, { phase, tool: toolName }, record);
  }

  #blockedBySafety({ reason, terminate }: { readonly reason: string; readonly terminate: boolean }): Decided {
    const result = refusal('blocked_by_safety', `Blocked: ${reason}.`, { nextStep: terminate ? STOP : GO_ON });
    return terminate ? { go: false, result, ends: new AgentError('blocked_by_safety', reason) } : { go: false, result };
  }

  /** A model that cannot take no for an answer is stopped. */
  #countRefusal(call: ToolCall, { code }: ToolResult): AgentError | undefined {
    if (code === undefined || !REFUSALS.has(code)) return undefined;
    const key = `${code} ${inputHashOf(call.name, call.input)}`;
    this.#equalRefusals = key === this.#lastRefusal ? this.#equalRefusals + 1 : 1;
    this.#lastRefusal = key;
    if (this.#equalRefusals < MOST_EQUAL_REFUSALS) return undefined;
    return new AgentError('run_ended', `the agent asked for the same refused call of ${call.name} again and again`);
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

  #signal(): AbortSignal {
    return AbortSignal.any([this.#host.turnSignal, this.#host.run.signal]);
  }

  #pieces() {
    const { context, effects, session, run } = this.#host;
    return { context, effects, session, run, emit: (event: OutputChunk | DriverEvent) => this.#host.emit(event) };
  }
}

const STOP = 'Stop now. No further call will be allowed in this run.';
const GO_ON = 'This call did not happen. Continue without it, or say why the task cannot be done.';
const INTERRUPTED: ToolResult = ToolResult.error(
  'interrupted',
  'The call was interrupted. It may have happened, or a part of it: check before repeating it.',
);

function refusal(code: AgentError['code'], message: string, info?: Json): ToolResult {
  return ToolResult.error(code, message, info ?? { nextStep: GO_ON });
}

function refuse(code: AgentError['code'], message: string, info?: Json): Decided {
  return { go: false, result: refusal(code, message, info) };
}

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
