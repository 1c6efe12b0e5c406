import { AgentError, type ErrorCode } from '../core/agent-error.ts';
import type { Json } from '../core/json.ts';
import type { ContentBlock, Message } from '../core/message.ts';
import { type TokenUsage, tokensOf } from '../core/token-usage.ts';
import { abortableSleep } from '../effects/effects.ts';
import {
  type CallOptions,
  type LLMClient,
  type ModelInput,
  type ModelPart,
  type ModelResponse,
  messagesOf,
} from '../llm/llm-client.ts';
import type { ToolDefinition } from '../tools/tool.ts';

export interface ScriptedStep {
  readonly text?: string;
  readonly thinking?: string;
  readonly toolCalls?: readonly {
    readonly id?: string;
    readonly name: string;
    readonly input: Json;
    readonly malformed?: string;
  }[];
  readonly usage?: Partial<Pick<TokenUsage, 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'>>;
  readonly costUsd?: number;
  readonly stopReason?: ModelResponse['stopReason'];
  /** Fails instead. A code becomes an AgentError. */
  readonly error?: ErrorCode | Error;
  readonly delayMs?: number;
  /** Truncates the stream. */
  readonly cutOff?: boolean;
}

export type ScriptStep = ScriptedStep | ((messages: readonly Message[]) => ScriptedStep);

export interface ScriptedRequest {
  readonly messages: readonly Message[];
  readonly system: string | undefined;
  readonly tools: readonly ToolDefinition[];
  readonly model: string | undefined;
}

/** A model that answers from a script, step by step, and records its requests. Running out of steps is an error. */
export class ScriptedModel implements LLMClient {
  readonly requests: ScriptedRequest[] = [];
  readonly #steps: readonly ScriptStep[];
  readonly #model: string;

  constructor(steps: readonly ScriptStep[], options: { readonly model?: string } = {}) {
    this.#steps = steps;
    this.#model = options.model ?? 'scripted';
  }

  async call(input: ModelInput, options: CallOptions = {}): Promise<ModelResponse> {
    for await (const part of this.stream(input, options)) if (part.type === 'response') return part.response;
    throw new AgentError('model_cut_off', 'the scripted stream was truncated');
  }

  async *stream(input: ModelInput, options: CallOptions = {}): AsyncIterable<ModelPart> {
    const messages = [...messagesOf(input)];
    const at = this.requests.length;
    this.requests.push({ messages, system: options.system, tools: options.tools ?? [], model: options.model });
    const next = this.#steps[at];
    if (next === undefined)
      throw new AgentError('model_invalid_request', `the script has only ${this.#steps.length} steps`);
    const step = typeof next === 'function' ? next(messages) : next;
    if (step.delayMs !== undefined) await abortableSleep(step.delayMs, options.signal);
    if (step.error instanceof Error) throw step.error;
    if (step.error !== undefined) throw new AgentError(step.error, 'scripted error');
    if (step.thinking !== undefined) yield { type: 'thinking-delta', text: step.thinking };
    for (const text of step.text?.match(/\S+\s*|\s+/g) ?? []) yield { type: 'text-delta', text };
    if (step.cutOff === true) return;
    yield { type: 'response', response: this.#response(step, at, options.model) };
  }

  async getModelInfo() {
    return { name: this.#model, provider: 'scripted', supportsStreaming: true };
  }

  #response(step: ScriptedStep, at: number, model = this.#model): ModelResponse {
    const { text, thinking, toolCalls = [], usage = {}, costUsd = 0, stopReason } = step;
    const content: ContentBlock[] = [];
    if (thinking !== undefined) content.push({ type: 'thinking', thinking });
    if (text !== undefined) content.push({ type: 'text', text });
    for (const [index, { id, name, input, malformed }] of toolCalls.entries())
      content.push({
        type: 'tool_use',
        id: id ?? `call-${at + 1}-${index + 1}`,
        name,
        input,
        ...(malformed === undefined ? {} : { malformed }),
      });
    const reason = stopReason ?? (toolCalls.length > 0 ? 'tool_use' : 'end_turn');
    return { id: `scripted-${at + 1}`, model, content, stopReason: reason, usage: tokensOf(usage), costUsd };
  }
}
