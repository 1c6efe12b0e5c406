import { AgentError, type ErrorCode } from '../core/agent-error.ts';
import type { PermissionAnswer } from '../core/input-output.ts';
import { inputHashOf, type Json } from '../core/json.ts';
import { ToolResult } from '../core/message.ts';
import { rememberedRule } from '../permissions/rule.ts';
import type { GuardVerdict } from '../platform/run-guard.ts';
import { callSignal, inspectText, type PipelineHost, type PipelineOptions } from './pipeline-host.ts';
import type { Tool, ToolCall } from './tool.ts';
import { invalidInput } from './tool-registry.ts';

/** What a model should do next after a refusal. */
const STOP = 'Stop now. No further call will be allowed in this run.';
const GO_ON = 'This call did not happen. Continue without it, or say why the task cannot be done.';

export function refusal(code: ErrorCode, message: string, info?: Json): ToolResult {
  return ToolResult.error(code, message, info ?? { nextStep: GO_ON });
}

/** Decision about a call before it runs. `ends`: the run ends with it. */
export type Decided =
  | { readonly go: true; readonly tool: Tool; readonly input: Json; readonly value: unknown }
  | { readonly go: false; readonly result: ToolResult; readonly ends?: AgentError };

const MAX_ROUNDS = 4;
const MAX_EQUAL_REFUSALS = 3;
const MAX_INVALID_INPUTS = 3;
const REFUSALS = new Set([
  'denied',
  'no_one_to_ask',
  'denied_by_host',
  'rate_limited',
  'blocked_by_safety',
  'blocked_by_platform',
]);

/** Decides about calls before they run, and tracks the refusals of a run. */
export class CallGate {
  readonly #host: PipelineHost;
  readonly #options: PipelineOptions;
  readonly #invalid = new Map<string, number>();
  #lastRefusal = '';
  #equalRefusals = 0;

  constructor(host: PipelineHost, options: PipelineOptions) {
    this.#host = host;
    this.#options = options;
  }

  /** Everything before the tool runs. A changed input is checked again from the start. */
  async decide(call: ToolCall): Promise<Decided> {
    const tool = this.tool(call.name);
    if (tool === undefined) return refuse('unknown_tool', `There is no tool "${call.name}".`, { tools: this.#names() });
    if (call.malformed !== undefined)
      return this.#invalidInput(call, [{ path: '', message: 'the input is not valid JSON' }]);
    const waitMs = this.#options.safety.takeRate(tool.name, this.#host.effects.now());
    if (waitMs !== null)
      return refuse('rate_limited', 'Too many calls; wait before the next one.', { retryAfterMs: waitMs });
    let input = call.input;
    let approved = '';
    let guarded = '';
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const safe = await inspectText(this.#host, this.#options.safety, input, 'tool-input', tool.name);
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

  tool(name: string): Tool | undefined {
    return this.#options.safety.allowsTool(name) ? this.#options.registry.get(name) : undefined;
  }

  #names(): Json {
    return this.#options.registry.listTools().filter((name) => this.#options.safety.allowsTool(name));
  }

  #invalidInput(call: ToolCall, issues: readonly { readonly path: string; readonly message: string }[]): Decided {
    const count = (this.#invalid.get(call.name) ?? 0) + 1;
    this.#invalid.set(call.name, count);
    const result = invalidInput(issues);
    if (count < MAX_INVALID_INPUTS) return { go: false, result };
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
    const { context } = this.#host;
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
      this.#host.emit({ ...base, decision, by, ...rule });
      this.#journal(call, inputHash, decision, by);
      return { result: refusal('denied', `Refused: ${check.reason}.`) };
    }
    if (decision === 'allow' || approved === inputHash) {
      if (decision === 'allow') this.#host.emit({ ...base, decision, by, ...rule });
      return { approved };
    }
    if (this.#options.canAsk === false) {
      this.#journal(call, inputHash, 'deny', 'default');
      this.#host.emit({ ...base, decision: 'deny', by: 'default', ...rule });
      return { result: refusal('no_one_to_ask', 'A human would have to allow this, and there is none to ask.') };
    }
    const answer = await this.#host.ask({ ...call, input }, tool.getInfo(value));
    this.#journal(call, inputHash, answer.decision, 'human');
    await this.#remember(tool, input, answer);
    if (answer.decision === 'deny')
      return {
        result: refusal('denied', `A human said no${answer.message === undefined ? '' : `: ${answer.message}`}.`),
      };
    if (answer.editedInput === undefined) return { approved: inputHash };
    return { approved: inputHashOf(tool.name, answer.editedInput), input: answer.editedInput };
  }

  /** Rules see both the given path and the link's target. */
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
        message: `the answer about ${tool.name} cannot be remembered: it is not a plain command`,
      });
      return;
    }
    permissions.remember(rule);
    if (answer.remember === 'always') await remember?.(permissions);
  }

  #journal(call: ToolCall, inputHash: string, decision: 'allow' | 'deny', by: string): void {
    this.#host.session.journal({
      type: 'permission',
      toolUseId: call.id,
      toolName: call.name,
      inputHash,
      decision,
      by,
    });
  }

  async #askGuard(call: ToolCall, tool: Tool, input: Json) {
    const { run } = this.#host;
    const question = {
      toolUseId: call.id,
      name: tool.name,
      category: tool.category,
      input,
      signal: callSignal(this.#host),
    };
    const verdict = await run.beforeTool(question);
    const rule = verdict.ruleId === undefined ? {} : { ruleId: verdict.ruleId };
    const { reason } = verdict;
    this.#host.emit({
      type: 'decision',
      toolUseId: call.id,
      toolName: tool.name,
      verdict: verdict.verdict,
      reason,
      ...rule,
    });
    return verdict;
  }

  #blockedByGuard(verdict: Extract<GuardVerdict, { verdict: 'block' }>): Decided {
    if (!verdict.terminate) return refuse('blocked_by_platform', verdict.reason, { nextStep: GO_ON });
    const ends = new AgentError(verdict.limit === true ? 'limit_reached' : 'run_ended', verdict.reason);
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

  #blockedBySafety({ reason, terminate }: { readonly reason: string; readonly terminate: boolean }): Decided {
    const result = refusal('blocked_by_safety', `Blocked: ${reason}.`, { nextStep: terminate ? STOP : GO_ON });
    return terminate ? { go: false, result, ends: new AgentError('blocked_by_safety', reason) } : { go: false, result };
  }

  /** Stops a model that repeats a refused call. */
  countRefusal(call: ToolCall, { code }: ToolResult): AgentError | undefined {
    if (code === undefined || !REFUSALS.has(code)) return undefined;
    const key = `${code} ${inputHashOf(call.name, call.input)}`;
    this.#equalRefusals = key === this.#lastRefusal ? this.#equalRefusals + 1 : 1;
    this.#lastRefusal = key;
    if (this.#equalRefusals < MAX_EQUAL_REFUSALS) return undefined;
    return new AgentError('run_ended', `the agent kept repeating the same refused call of ${call.name}`);
  }
}

function refuse(code: AgentError['code'], message: string, info?: Json): Decided {
  return { go: false, result: refusal(code, message, info) };
}
