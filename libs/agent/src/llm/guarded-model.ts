import { AgentError, errorInfo } from '../core/agent-error.ts';
import type { DriverEvent } from '../core/agent-event.ts';
import type { OutputChunk } from '../core/input-output.ts';
import type { Json } from '../core/json.ts';
import { type ContentBlock, type Message, mergedMessages, textOf } from '../core/message.ts';
import { redactStored } from '../core/redact.ts';
import type { Effects } from '../effects/effects.ts';
import type { GuardedRun } from '../platform/run-guard.ts';
import type { SafetyLayer } from '../safety/safety-layer.ts';
import { type ModelSource, type ProviderOf, providerPool } from './fallback.ts';
import {
  type CallOptions,
  type LLMClient,
  type ModelInput,
  type ModelPart,
  type ModelResponse,
  messagesOf,
} from './llm-client.ts';
import { knownCost } from './model-provider.ts';

/** Usage of a model call, for accounting. */
export interface ModelUse {
  readonly callId: string;
  readonly provider?: string;
  readonly durationMs: number;
  readonly response: ModelResponse;
}

export interface GuardedModelHost {
  readonly effects: Effects;
  readonly run: GuardedRun;
  readonly turnSignal: AbortSignal;
  readonly safety?: SafetyLayer;
  /** Models with an unknown price that were already reported. */
  readonly unpriced: Set<string>;
  emit(event: OutputChunk | DriverEvent): void;
  used(use: ModelUse): void;
}

const CHARS_PER_TOKEN = 4;
const YIELD_EVERY_MS = 10;
let yieldedAt = 0;

/**
 * A model as agents of the runtime use it: limited, guarded and recorded; its pieces are sent to listeners and its
 * answer is normalised.
 */
export function guardedModel(host: GuardedModelHost, source: ModelSource): LLMClient {
  const { effects } = host;
  const make = typeof source === 'function' ? source : providerPool({ providers: [{ id: 'model', client: source }] });
  const inner = make({ effects, emit: (event) => host.emit(event) });
  const call = (input: ModelInput, options: CallOptions = {}) => oneCall(host, inner, inner.providerOf, input, options);
  return {
    call,
    async *stream(input, options = {}): AsyncIterable<ModelPart> {
      // Pieces go to the session's listeners; this caller waits for the complete answer.
      yield { type: 'response', response: await call(input, options) };
    },
    ...(typeof source === 'function' || source.getModelInfo === undefined
      ? {}
      : { getModelInfo: () => (source.getModelInfo as NonNullable<LLMClient['getModelInfo']>)() }),
  };
}

async function oneCall(
  host: GuardedModelHost,
  client: LLMClient,
  providerOf: ProviderOf | undefined,
  input: ModelInput,
  options: CallOptions,
): Promise<ModelResponse> {
  const { effects, run, emit } = { effects: host.effects, run: host.run, emit: host.emit.bind(host) };
  AbortSignal.any([host.turnSignal, host.run.signal]).throwIfAborted();
  await letOthersRun();
  const callId = effects.newId();
  const asked = mergedMessages(messagesOf(input));
  const safe = await inspectPrompt(host, asked);
  const estimatedTokens = Math.ceil(JSON.stringify(safe).length / CHARS_PER_TOKEN);
  const messages = await run.beforeModel({ callId, messages: safe, estimatedTokens });
  const signals = [host.turnSignal, run.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const model = run.modelOverride ?? options.model;
  const wanted = { ...options, ...(model === undefined ? {} : { model }), signal: AbortSignal.any(signals) };
  emit({ type: 'model-start', callId, model: model ?? '' });
  const startedAt = effects.now();
  try {
    const answered = await collect(client, messages, wanted, emit);
    const provider = providerOf?.(answered);
    const response = await priced(host, ordered(answered, effects, emit));
    const durationMs = effects.now() - startedAt;
    const named = provider === undefined ? {} : { provider };
    await run.afterModel({ callId, model: response.model, ...named, durationMs, response });
    const { usage, costUsd, stopReason } = response;
    const cost = costUsd === undefined ? {} : { costUsd };
    emitText(response.content, emit);
    emit({ type: 'model-end', callId, model: response.model, ...named, usage, ...cost, durationMs, stopReason });
    host.used({ callId, ...named, durationMs, response });
    if (stopReason === 'refusal') throw new AgentError('model_refused', 'the model refused to answer');
    return response;
  } catch (error) {
    const { signal } = wanted;
    const info = signal.aborted ? errorInfo(signal.reason, 'aborted') : errorInfo(error, 'model_unavailable');
    if (info.code === 'model_refused') throw error;
    const durationMs = effects.now() - startedAt;
    await run.afterModel({ callId, model: model ?? '', durationMs, error: info });
    emit({ type: 'model-end', callId, model: model ?? '', usage: NOTHING, durationMs, error: info });
    throw error;
  }
}

const NOTHING = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, total: 0, children: 0 };

/** Yields to the event loop, which agents that never wait would block. */
function letOthersRun(): Promise<void> | undefined {
  const now = performance.now();
  if (now - yieldedAt < YIELD_EVERY_MS) return undefined;
  yieldedAt = now;
  return new Promise((resolve) => setImmediate(resolve));
}

async function inspectPrompt(host: GuardedModelHost, messages: readonly Message[]): Promise<readonly Message[]> {
  if (host.safety === undefined) return messages;
  // Messages are JSON; a filter only changes texts in them.
  const value = messages as unknown as Json;
  const inspected = await host.safety.inspect(value, { phase: 'prompt' }, ({ phase, rule, action, inputHash }) => {
    host.emit({ type: 'safety', phase, rule, action, inputHash });
  });
  if (!inspected.ok) throw new AgentError('blocked_by_safety', `the prompt is blocked: ${inspected.reason}`);
  return inspected.changed ? (inspected.value as unknown as readonly Message[]) : messages;
}

async function collect(
  client: LLMClient,
  messages: readonly Message[],
  options: CallOptions,
  emit: (event: OutputChunk) => void,
): Promise<ModelResponse> {
  if (client.stream === undefined) return client.call(messages, options);
  let response: ModelResponse | undefined;
  for await (const part of client.stream(messages, options)) {
    if (part.type === 'text-delta' || part.type === 'thinking-delta') emit({ type: part.type, text: part.text });
    if (part.type === 'response') response = part.response;
  }
  if (response === undefined) throw new AgentError('model_cut_off', 'the answer was truncated');
  return response;
}

/** Complete texts without secrets, as kept by logs and traces. */
function emitText(content: readonly ContentBlock[], emit: (event: OutputChunk) => void): void {
  const thinking = content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('');
  if (thinking !== '') emit({ type: 'thinking-complete', text: redactStored(thinking) });
  const text = textOf(content);
  if (text !== '') emit({ type: 'text-complete', text: redactStored(text) });
}

/** Gives each call a unique id, because results are matched only by id. */
function ordered(response: ModelResponse, effects: Effects, emit: (event: DriverEvent) => void): ModelResponse {
  const seen = new Set<string>();
  let changed = false;
  const content = response.content.map((block) => {
    if (block.type !== 'tool_use') return block;
    const taken = block.id === '' || seen.has(block.id);
    const id = taken ? effects.newId() : block.id;
    seen.add(id);
    if (!taken) return block;
    changed = true;
    emit({ type: 'warning', message: `the model gave two calls the id ${JSON.stringify(block.id)}` });
    return { ...block, id };
  });
  return changed ? { ...response, content } : response;
}

async function priced(host: GuardedModelHost, response: ModelResponse): Promise<ModelResponse> {
  const { model, usage } = response;
  if (response.costUsd !== undefined || usage.total === 0 || host.unpriced.has(model)) return response;
  const costUsd = await knownCost(model, usage);
  if (costUsd !== undefined) return { ...response, costUsd };
  host.unpriced.add(model);
  host.emit({ type: 'warning', message: `the price of ${model || 'the model'} is unknown: its cost is not counted` });
  return response;
}
