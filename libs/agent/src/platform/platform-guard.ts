import { type AgentLensClient, type Decision, isAgentStopped, type LlmPart, type Run, withRun } from '@agentlens/sdk';
import { AgentError } from '../core/agent-error.ts';
import { canonicalJson, type Json, toJson } from '../core/json.ts';
import type { ContentBlock, Message } from '../core/message.ts';
import type { Effects } from '../effects/effects.ts';
import type { GuardedRun, GuardedRunStart, GuardVerdict, ModelOutcome, RunGuard, ToolQuestion } from './run-guard.ts';
import { RunLimiter } from './run-limits.ts';

export interface PlatformGuardOptions {
  /** Longest wait for a human on the platform, in ms. */
  readonly approvalTimeoutMs?: number;
}

/** Makes every run a platform run too: decided, limited, recorded and stoppable there. */
export function platformGuard(client: AgentLensClient, effects: Effects, options: PlatformGuardOptions = {}): RunGuard {
  return {
    async begin(start) {
      const { sessionId, runId, parentRunId, parentToolUseId, model, agentType } = start;
      const run = await client.startRun({
        ...{ sessionId, runId, parentRunId, parentToolUseId },
        ...(model === undefined || model === '' ? {} : { model: { name: model } }),
        tags: { agentType },
      });
      return new PlatformRun(run, start, effects, options);
    },
  };
}

class PlatformRun implements GuardedRun {
  readonly #run: Run;
  readonly #limiter: RunLimiter;
  readonly #options: PlatformGuardOptions;

  constructor(run: Run, { limits = {} }: GuardedRunStart, effects: Effects, options: PlatformGuardOptions) {
    this.#run = run;
    this.#limiter = new RunLimiter(limits, () => effects.now());
    this.#options = options;
  }

  get id(): string {
    return this.#run.id;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get modelOverride(): string | null {
    return this.#run.modelOverride;
  }

  async beforeModel({ callId, messages, estimatedTokens }: Parameters<GuardedRun['beforeModel']>[0]) {
    this.#limiter.beforeModel(callId, estimatedTokens);
    try {
      const estimate = { tokens: estimatedTokens, costUsd: 0 };
      const sent = messages.map(platformMessage);
      const cleaned = await this.#run.beforeLlm(sent, { history: 'full', callId, estimate });
      return cleaned.map((message, index) => changedMessage(message.content, sent[index]?.content, messages[index]));
    } catch (error) {
      if (isAgentStopped(error)) throw stopped(error.decision);
      throw error;
    }
  }

  async afterModel(outcome: ModelOutcome): Promise<void> {
    this.#limiter.modelAnswered(outcome);
    const { callId, model, provider, durationMs, response, error } = outcome;
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = response?.usage ?? {};
    await this.#run.afterLlm({
      content: (response?.content ?? []).flatMap(platformPart),
      model: { name: model, ...(provider === undefined ? {} : { provider }) },
      ...(response === undefined ? {} : { usage: { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } }),
      ...{ callId, durationMs, costUsd: response?.costUsd },
      ...(error === undefined ? {} : { error: new Error(`${error.code}: ${error.message}`) }),
    });
  }

  async beforeTool(question: ToolQuestion): Promise<GuardVerdict> {
    const { toolUseId, name, category, input, signal } = question;
    const reached = this.#limiter.beforeTool(toolUseId);
    if (reached !== null) return { verdict: 'block', terminate: true, reason: reached, limit: true };
    const options = { callId: toolUseId, tags: [category] };
    let decision = await this.#run.beforeTool(name, input, options);
    if (decision.cause.kind === 'HITL_PENDING') {
      const { approvalTimeoutMs: timeoutMs } = this.#options;
      const wait = { ...options, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
      decision = await abortable(this.#run.waitForApproval(name, decision, wait), signal);
    }
    return verdictOf(decision, input);
  }

  async afterTool({
    toolUseId,
    name,
    category,
    input,
    output,
    durationMs,
    failed,
  }: Parameters<GuardedRun['afterTool']>[0]) {
    this.#limiter.toolEnded(toolUseId, failed);
    const error = failed ? new Error('the tool failed') : undefined;
    const options = { callId: toolUseId, tags: [category] };
    const decision = await this.#run.afterTool(name, input, output, durationMs, error, options);
    return verdictOf({ ...decision, args: output }, output);
  }

  record(kind: string, data: Readonly<Record<string, unknown>>): void {
    this.#run.record(kind, data);
  }

  within<T>(body: () => Promise<T>): Promise<T> {
    return withRun(this.#run, body);
  }

  end(status: Parameters<GuardedRun['end']>[0]): Promise<void> {
    return this.#run.end(status);
  }
}

function verdictOf(decision: Decision, asked: Json): GuardVerdict {
  const { message: reason, finalRuleId } = decision;
  const rule = finalRuleId === undefined ? {} : { ruleId: finalRuleId };
  if (decision.verdict === 'BLOCK')
    return { verdict: 'block', terminate: decision.control === 'TERMINATE', reason, ...rule };
  const input = toJson(decision.args, Number.POSITIVE_INFINITY);
  const changed = input !== asked && canonicalJson(input) !== canonicalJson(asked);
  return { verdict: changed ? 'change' : 'allow', input: changed ? input : asked, reason, ...rule };
}

function stopped(decision: Decision): AgentError {
  return new AgentError('run_ended', decision.message, { info: { cause: decision.cause.kind } });
}

function platformPart(block: ContentBlock): LlmPart[] {
  if (block.type === 'text') return [{ type: 'text', text: block.text }];
  if (block.type !== 'tool_use') return [];
  return [{ type: 'tool_call', toolCallId: block.id, toolName: block.name, args: block.input }];
}

/** In the platform's vocabulary, messages with results have the role of the tool. */
function platformMessage({ role, content }: Message): { readonly role: string; readonly content: unknown } {
  const results = content.every(({ type }) => type === 'tool_result');
  return { role: results && content.length > 0 ? 'tool' : role, content };
}

/** Applies the client's message hook to the model's message; everything else is unchanged. */
function changedMessage(now: unknown, before: unknown, message: Message | undefined): Message {
  if (message === undefined) return { role: 'user', content: [{ type: 'text', text: String(now) }] };
  if (now === before) return message;
  if (typeof now === 'string') return { role: message.role, content: [{ type: 'text', text: now }] };
  return Array.isArray(now) ? { role: message.role, content: now as Message['content'] } : message;
}

function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  const stop = () => aborted.reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  promise.catch(() => undefined);
  return Promise.race([promise, aborted.promise]).finally(() => signal.removeEventListener('abort', stop));
}
