import { AgentError } from '../core/agent-error.ts';
import { isPlainObject, parseJson } from '../core/json.ts';
import { type ContentBlock, type Message, mergedMessages } from '../core/message.ts';
import { tokensOf } from '../core/token-usage.ts';
import { AnswerBuilder, responseOf } from './answer-builder.ts';
import { baseUrlOf, checkApiKey, postToModel, serverSentEvents } from './http-model.ts';
import {
  type CallOptions,
  type LLMClient,
  type ModelInput,
  type ModelPart,
  type ModelResponse,
  messagesOf,
  type StopReason,
} from './llm-client.ts';
import { asModelError, cutOff } from './model-error.ts';

export interface AnthropicOptions {
  readonly apiKey: string;
  readonly model: string;
  /** Default `https://api.anthropic.com`. */
  readonly baseUrl?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const PROVIDER = 'anthropic';
const DEFAULT_MAX_TOKENS = 8_192;
const BUDGETS = { low: 2_000, medium: 8_000, high: 24_000 } as const;
const STOPS: Readonly<Record<string, StopReason>> = {
  ...{ end_turn: 'end_turn', stop_sequence: 'end_turn', tool_use: 'tool_use', max_tokens: 'max_tokens' },
  ...{ refusal: 'refusal', model_context_window_exceeded: 'max_tokens' },
};

/** Anthropic's Messages API, streamed. */
export function anthropic(options: AnthropicOptions): LLMClient {
  const { model } = options;
  const baseUrl = baseUrlOf(options.baseUrl ?? 'https://api.anthropic.com');
  const headers = {
    'x-api-key': checkApiKey(PROVIDER, options.apiKey),
    'anthropic-version': '2023-06-01',
    ...options.headers,
  };
  async function* stream(input: ModelInput, asked: CallOptions = {}): AsyncGenerator<ModelPart> {
    const { signal } = asked;
    const http = {
      provider: PROVIDER,
      url: `${baseUrl}/v1/messages`,
      headers,
      ...(signal === undefined ? {} : { signal }),
    };
    try {
      yield* read(await postToModel(http, requestOf(input, asked, asked.model ?? model)));
    } catch (error) {
      throw asModelError(PROVIDER, error, signal);
    }
  }
  return {
    stream,
    call: (input, asked) => responseOf(PROVIDER, stream(input, asked)),
    getModelInfo: async () => ({ name: model, provider: PROVIDER, supportsStreaming: true }),
  };
}

function requestOf(input: ModelInput, options: CallOptions, model: string) {
  const { system, tools, toolChoice, thinking, maxOutputTokens = DEFAULT_MAX_TOKENS, temperature, stop } = options;
  const budget = thinking === undefined ? undefined : (thinking.budgetTokens ?? BUDGETS[thinking.effort ?? 'medium']);
  return {
    ...{ model, stream: true, messages: mergedMessages(messagesOf(input)).map(messageOf) },
    // Thinking counts as output.
    max_tokens: maxOutputTokens + (budget ?? 0),
    ...(system === undefined ? {} : { system }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop === undefined ? {} : { stop_sequences: stop }),
    ...(budget === undefined ? {} : { thinking: { type: 'enabled', budget_tokens: budget } }),
    ...(tools === undefined || tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
        }),
    ...(toolChoice === undefined ? {} : { tool_choice: choiceOf(toolChoice) }),
  };
}

function choiceOf(choice: NonNullable<CallOptions['toolChoice']>) {
  if (typeof choice === 'object') return { type: 'tool', name: choice.name };
  return { type: choice === 'required' ? 'any' : choice };
}

function messageOf({ role, content }: Message) {
  return { role, content: content.flatMap(blockOf) };
}

function blockOf(block: ContentBlock): object[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ type: 'text', text: block.text }];
    case 'thinking':
      if (isPlainObject(block.opaque) && block.opaque.type === 'redacted_thinking') return [block.opaque];
      // Without its signature the provider rejects it.
      return block.signature === undefined
        ? []
        : [{ type: 'thinking', thinking: block.thinking, signature: block.signature }];
    case 'tool_use':
      return [{ type: 'tool_use', id: block.id, name: block.name, input: block.input }];
    case 'tool_result': {
      const content = typeof block.content === 'string' ? block.content : JSON.stringify(block.content);
      return [{ type: 'tool_result', tool_use_id: block.toolUseId, content, is_error: block.isError }];
    }
  }
}

async function* read(body: ReadableStream<Uint8Array>): AsyncGenerator<ModelPart> {
  const answer = new AnswerBuilder();
  let [id, model, stopReason]: string[] = ['', '', ''];
  let usage: Record<string, unknown> = {};
  for await (const { data } of serverSentEvents(body)) {
    const event = parseJson(data);
    if (!isPlainObject(event)) throw cutOff(PROVIDER, 'an event is not valid JSON');
    const key = String(event.index);
    if (event.type === 'message_start' && isPlainObject(event.message)) {
      id = String(event.message.id);
      model = String(event.message.model);
      usage = { ...usage, ...asObject(event.message.usage) };
    } else if (event.type === 'content_block_start') startBlock(answer, key, asObject(event.content_block));
    else if (event.type === 'content_block_delta') {
      const part = deltaOf(answer, key, asObject(event.delta));
      if (part !== null) yield part;
    } else if (event.type === 'message_delta') {
      stopReason = textIn(asObject(event.delta).stop_reason) || stopReason;
      usage = { ...usage, ...asObject(event.usage) };
    } else if (event.type === 'error') throw streamError(asObject(event.error));
    else if (event.type === 'message_stop') {
      yield {
        type: 'response',
        response: responseFrom(answer, { id: id ?? '', model: model ?? '', stopReason: stopReason ?? '' }, usage),
      };
      return;
    }
  }
  throw cutOff(PROVIDER, 'the stream ended before message_stop');
}

function startBlock(answer: AnswerBuilder, key: string, block: Record<string, unknown>): void {
  if (block.type === 'tool_use') answer.call(key, String(block.id), String(block.name));
  if (block.type === 'text' && typeof block.text === 'string') answer.text(key, block.text);
  if (block.type === 'redacted_thinking')
    answer.thinking(key, '', { opaque: { type: 'redacted_thinking', data: String(block.data) } });
}

function deltaOf(answer: AnswerBuilder, key: string, delta: Record<string, unknown>): ModelPart | null {
  if (delta.type === 'text_delta' && typeof delta.text === 'string') {
    answer.text(key, delta.text);
    return { type: 'text-delta', text: delta.text };
  }
  if (delta.type === 'thinking_delta' && typeof delta.thinking === 'string') {
    answer.thinking(key, delta.thinking);
    return { type: 'thinking-delta', text: delta.thinking };
  }
  if (delta.type === 'signature_delta') answer.thinking(key, '', { signature: String(delta.signature) });
  if (delta.type !== 'input_json_delta' || typeof delta.partial_json !== 'string') return null;
  const callId = answer.input(key, delta.partial_json);
  return callId === undefined ? null : { type: 'tool-input-delta', id: callId, json: delta.partial_json };
}

function responseFrom(
  answer: AnswerBuilder,
  named: { id: string; model: string; stopReason: string },
  usage: Record<string, unknown>,
): ModelResponse {
  const { id, model, stopReason } = named;
  const count = (field: string) => (typeof usage[field] === 'number' ? usage[field] : 0);
  const [cacheReadTokens, cacheWriteTokens] = [count('cache_read_input_tokens'), count('cache_creation_input_tokens')];
  // Anthropic counts cached tokens separately.
  const inputTokens = count('input_tokens') + cacheReadTokens + cacheWriteTokens;
  return {
    ...{ id, model, content: answer.content(), stopReason: STOPS[stopReason] ?? 'other' },
    usage: tokensOf({ inputTokens, outputTokens: count('output_tokens'), cacheReadTokens, cacheWriteTokens }),
  };
}

function streamError({ type }: Record<string, unknown>): AgentError {
  const message = `${PROVIDER} ended the stream: ${String(type)}`;
  if (type === 'overloaded_error' || type === 'api_error') return new AgentError('model_unavailable', message);
  if (type === 'rate_limit_error') return new AgentError('model_rate_limited', message);
  return new AgentError('model_invalid_request', message);
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function asObject(value: unknown): Record<string, unknown> {
  return isPlainObject(value) ? value : {};
}
