import type { ErrorInfo } from '../core/agent-error.ts';
import type { DriverEvent } from '../core/agent-event.ts';
import type { OutputChunk } from '../core/input-output.ts';
import type { Json } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import type { Effects } from '../effects/effects.ts';
import type { ModelResponse } from '../llm/llm-client.ts';
import type { RunLimits } from '../runtime/capacity.ts';
import { RunLimiter } from './run-limits.ts';

export interface GuardedRunStart {
  readonly sessionId: string;
  readonly agentType: string;
  readonly runId?: string;
  readonly parentRunId?: string;
  readonly parentToolUseId?: string;
  readonly model?: string;
  readonly limits?: Partial<RunLimits>;
}

export interface ModelQuestion {
  readonly callId: string;
  readonly messages: readonly Message[];
  readonly estimatedTokens: number;
}

export interface ModelOutcome {
  readonly callId: string;
  readonly model: string;
  readonly provider?: string;
  readonly durationMs: number;
  readonly response?: ModelResponse;
  readonly error?: ErrorInfo;
}

export interface ToolQuestion {
  readonly toolUseId: string;
  readonly name: string;
  readonly category: string;
  readonly input: Json;
  /** Ends the wait for a human. */
  readonly signal: AbortSignal;
}

export interface ToolCallOutcome {
  readonly toolUseId: string;
  readonly name: string;
  readonly category: string;
  readonly input: Json;
  readonly output: Json;
  readonly durationMs: number;
  readonly failed: boolean;
}

export type GuardVerdict =
  | { readonly verdict: 'allow' | 'change'; readonly input: Json; readonly reason: string; readonly ruleId?: string }
  | {
      readonly verdict: 'block';
      readonly terminate: boolean;
      readonly reason: string;
      readonly ruleId?: string;
      /** A limit of the run, not a rule. */
      readonly limit?: true;
    };

export type RunEnd = 'success' | 'error' | 'timeout' | 'interrupted';

/** One guarded run. */
export interface GuardedRun {
  readonly id: string;
  /** Aborted when the run must stop immediately. */
  readonly signal: AbortSignal;
  /** Model set by an operator. */
  readonly modelOverride: string | null;
  /** Returns the messages to send. @throws AgentError `run_ended`, `limit_reached` */
  beforeModel(question: ModelQuestion): Promise<readonly Message[]>;
  afterModel(outcome: ModelOutcome): Promise<void>;
  beforeTool(question: ToolQuestion): Promise<GuardVerdict>;
  /** `block`: the output must not be used. */
  afterTool(outcome: ToolCallOutcome): Promise<GuardVerdict>;
  record(kind: string, data: Readonly<Record<string, unknown>>): void;
  /** Runs `body` in this run, so that nested code finds it. */
  within<T>(body: () => Promise<T>): Promise<T>;
  end(status: RunEnd): Promise<void>;
}

/** Guards runs, in this process alone or with the platform. */
export interface RunGuard {
  begin(start: GuardedRunStart): Promise<GuardedRun>;
}

/** Guard without a platform: requests and reports nothing, but enforces the run's limits. */
export function localGuard(effects: Effects): RunGuard {
  return { begin: async (start) => localRun(start, effects) };
}

function localRun({ runId, limits = {} }: GuardedRunStart, effects: Effects): GuardedRun {
  const limiter = new RunLimiter(limits, () => effects.now());
  const never = new AbortController();
  return {
    id: runId ?? effects.newId(),
    signal: never.signal,
    modelOverride: null,
    async beforeModel({ callId, messages, estimatedTokens }) {
      limiter.beforeModel(callId, estimatedTokens);
      return messages;
    },
    async afterModel(outcome) {
      limiter.modelAnswered(outcome);
    },
    async beforeTool({ toolUseId, input }) {
      const reached = limiter.beforeTool(toolUseId);
      if (reached !== null) return { verdict: 'block', terminate: true, reason: reached, limit: true };
      return { verdict: 'allow', input, reason: 'no platform' };
    },
    async afterTool({ toolUseId, output, failed }) {
      limiter.toolEnded(toolUseId, failed);
      return { verdict: 'allow', input: output, reason: 'no platform' };
    },
    record: () => undefined,
    within: (body) => body(),
    end: () => Promise.resolve(),
  };
}

interface StoryFact {
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * The platform's fact for an event that its own hooks do not report: refusals and human answers, safety, prompts,
 * memory, retries and sub-agents. Null for everything else.
 */
export function storyFact(event: OutputChunk | DriverEvent): StoryFact | null {
  switch (event.type) {
    case 'permission-response': {
      const { decision, by, toolName: name, toolUseId: callId, ruleId } = event;
      if (decision === 'allow' && by !== 'human') return null;
      return { kind: 'permission.decided', data: { decision, by, tool: { name }, callId, ruleId } };
    }
    case 'safety': {
      const { phase, rule, action, inputHash, toolName } = event;
      const tool = toolName === undefined ? {} : { tool: { name: toolName } };
      return { kind: 'safety.decided', data: { phase, rule, action, inputHash, ...tool } };
    }
    case 'prompt-rendered': {
      const { templateId, version, hash } = event;
      return { kind: 'prompt.rendered', data: { templateId, version, hash } };
    }
    case 'memory-write': {
      const { store, key, dropped } = event;
      return { kind: 'memory.written', data: { store, key, dropped } };
    }
    case 'retry': {
      const { what, attempt, waitMs, error } = event;
      return { kind: 'call.retried', data: { what, attempt, waitMs, code: error.code } };
    }
    case 'subagent-spawned': {
      const { childSessionId, agentType } = event;
      return { kind: 'subagent.started', data: { childSessionId, agentType } };
    }
    case 'subagent-complete': {
      const { childSessionId, success, usage } = event;
      return { kind: 'subagent.ended', data: { childSessionId, success, tokens: usage.total } };
    }
    default:
      return null;
  }
}
