import { AgentError } from '../core/agent-error.ts';
import { isPlainObject, parseJson } from '../core/json.ts';
import { type Message, mergedMessages, textOf, toolUsesOf } from '../core/message.ts';
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

export interface OpenaiCompatibleOptions {
  readonly apiKey: string;
  /** Up to and including the version, such as `https://api.openai.com/v1` or `http://localhost:11434/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** For errors and prices. Default `openai`. */
  readonly provider?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const STOPS: Readonly<Record<string, StopReason>> = {
  ...{
    stop: 'end_turn',
    tool_calls: 'tool_use',
    function_call: 'tool_use',
    length: 'max_tokens',
    content_filter: 'refusal',
  },
};

/** The Chat Completions API, streamed; used by OpenAI and many servers of open models. */
export function openaiCompatible(options: OpenaiCompatibleOptions): LLMClient {
  const { model, provider = 'openai' } = options;
  const url = `${baseUrlOf(options.baseUrl)}/chat/completions`;
  const headers = { authorization: `Bearer ${checkApiKey(provider, options.apiKey)}`, ...options.headers };
  async function* stream(input: ModelInput, asked: CallOptions = {}): AsyncGenerator<ModelPart> {
    const { signal } = asked;
    try {
      const body = await postToModel(
        { provider, url, headers, ...(signal === undefined ? {} : { signal }) },
        requestOf(input, asked, asked.model ?? model),
      );
      yield* read(body, provider);
    } catch (error) {
      throw asModelError(provider, error, signal);
    }
  }
  return {
    stream,
    call: (input, asked) => responseOf(provider, stream(input, asked)),
    getModelInfo: async () => ({ name: model, provider, supportsStreaming: true }),
  };
}

function requestOf(input: ModelInput, options: CallOptions, model: string) {
  const { system, tools, toolChoice, thinking, maxOutputTokens, temperature, stop, output } = options;
  const messages = mergedMessages(messagesOf(input)).flatMap(chatMessages);
  return {
    ...{ model, stream: true, stream_options: { include_usage: true } },
    messages: system === undefined ? messages : [{ role: 'system', content: system }, ...messages],
    ...(maxOutputTokens === undefined ? {} : { max_tokens: maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop === undefined ? {} : { stop }),
    ...(thinking?.effort === undefined ? {} : { reasoning_effort: thinking.effort }),
    ...(output === undefined
      ? {}
      : { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: output } } }),
    ...(tools === undefined || tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, inputSchema: parameters }) => ({
            type: 'function',
            function: { name, description, parameters },
          })),
        }),
    ...(toolChoice === undefined
      ? {}
      : {
          tool_choice:
            typeof toolChoice === 'object' ? { type: 'function', function: { name: toolChoice.name } } : toolChoice,
        }),
  };
}

/** Results are separate messages here, before the user's other content. */
function chatMessages({ role, content }: Message): object[] {
  const text = textOf(content);
  if (role === 'assistant') {
    const calls = toolUsesOf(content).map(({ id, name, input }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    }));
    return [{ role, content: text === '' ? null : text, ...(calls.length === 0 ? {} : { tool_calls: calls }) }];
  }
  const results = content.flatMap((block) => {
    if (block.type !== 'tool_result') return [];
    const answered = typeof block.content === 'string' ? block.content : JSON.stringify(block.content);
    return [{ role: 'tool', tool_call_id: block.toolUseId, content: answered }];
  });
  return text === '' && results.length > 0 ? results : [...results, { role, content: text }];
}

async function* read(body: ReadableStream<Uint8Array>, provider: string): AsyncGenerator<ModelPart> {
  const answer = new AnswerBuilder();
  const named = { id: '', model: '', stopReason: '' };
  let usage: Record<string, unknown> = {};
  for await (const { data } of serverSentEvents(body)) {
    if (data === '[DONE]') break;
    const chunk = parseJson(data);
    if (!isPlainObject(chunk)) throw cutOff(provider, 'an event is not valid JSON');
    if (chunk.error !== undefined)
      throw new AgentError('model_unavailable', `${provider} ended the stream with an error`);
    named.id ||= typeof chunk.id === 'string' ? chunk.id : '';
    named.model ||= typeof chunk.model === 'string' ? chunk.model : '';
    if (isPlainObject(chunk.usage)) usage = chunk.usage;
    const [choice]: unknown[] = Array.isArray(chunk.choices) ? chunk.choices : [];
    if (!isPlainObject(choice)) continue;
    yield* deltasOf(answer, isPlainObject(choice.delta) ? choice.delta : {});
    if (typeof choice.finish_reason === 'string') named.stopReason = choice.finish_reason;
  }
  // Usage follows the finish reason, so reading continues; without a reason the stream was truncated.
  if (named.stopReason === '') throw cutOff(provider, 'the stream ended without a finish_reason');
  yield { type: 'response', response: responseFrom(answer, named, usage) };
}

function* deltasOf(answer: AnswerBuilder, delta: Record<string, unknown>): Generator<ModelPart> {
  const thinking = delta.reasoning_content ?? delta.reasoning;
  if (typeof thinking === 'string' && thinking !== '') {
    answer.thinking('thinking', thinking);
    yield { type: 'thinking-delta', text: thinking };
  }
  if (typeof delta.content === 'string' && delta.content !== '') {
    answer.text('text', delta.content);
    yield { type: 'text-delta', text: delta.content };
  }
  for (const call of Array.isArray(delta.tool_calls) ? delta.tool_calls : []) {
    if (!isPlainObject(call)) continue;
    const key = `call ${typeof call.index === 'number' ? call.index : 0}`;
    const named = isPlainObject(call.function) ? call.function : {};
    if (!answer.has(key))
      answer.call(key, typeof call.id === 'string' ? call.id : '', typeof named.name === 'string' ? named.name : '');
    if (typeof named.arguments !== 'string' || named.arguments === '') continue;
    const id = answer.input(key, named.arguments) ?? '';
    yield { type: 'tool-input-delta', id, json: named.arguments };
  }
}

function responseFrom(
  answer: AnswerBuilder,
  named: { readonly id: string; readonly model: string; readonly stopReason: string },
  usage: Record<string, unknown>,
): ModelResponse {
  const count = (value: unknown) => (typeof value === 'number' ? value : 0);
  const details = isPlainObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const reason = STOPS[named.stopReason] ?? 'other';
  return {
    ...{ id: named.id, model: named.model, content: answer.content() },
    // Some servers report "stop" although there are calls.
    stopReason: answer.hasCalls && reason === 'end_turn' ? 'tool_use' : reason,
    usage: tokensOf({
      inputTokens: count(usage.prompt_tokens),
      outputTokens: count(usage.completion_tokens),
      cacheReadTokens: count(details.cached_tokens),
    }),
  };
}
