import type { ProviderFrame } from './frame-scanner.ts';
import type { ModelApi } from './model-dialect.ts';
import {
  isJsonObject,
  type ModelUsage,
  type ProviderJson,
  readAnthropicUsage,
  readChatUsage,
  readGeminiUsage,
  readResponsesUsage,
} from './model-usage.ts';
import type { StreamProgress } from './refusals.ts';

/**
 * Where the tokens of a call come from. `provider`: exact. `partial`: the input is the provider's, the output was
 * counted. `counted`: both follow from characters. `estimated`: nothing of the answer arrived.
 */
export type UsageSource = 'provider' | 'partial' | 'counted' | 'estimated';

/** What an answer told about itself. */
export interface MeteredAnswer {
  readonly usage: ModelUsage;
  readonly usageSource: UsageSource;
  readonly finishReason: string | undefined;
  readonly responseId: string | undefined;
  /** The model as the provider names it. */
  readonly model: string | undefined;
  readonly serviceTier: string | undefined;
  readonly toolCalls: readonly string[];
  /** The stream said that it was complete, or the answer was not a stream. */
  readonly isComplete: boolean;
  /** The provider reported an error inside the stream. */
  readonly errorType: string | undefined;
}

/** Bytes of UTF-8 per token of answers, for what the provider did not count. A character of Chinese is about a token. */
const BYTES_PER_TOKEN = 3.5;
/** Names beyond this are not kept; they only describe the call. */
const MAX_TOOL_CALLS = 256;
/** Of models, ids and reasons, which providers keep short. */
const MAX_TEXT_CHARS = 256;

/** Follows one answer, streamed or whole. Reads only frames that can say something; text is counted by its length. */
export class AnswerMeter {
  readonly #api: ModelApi;
  /** Estimate of the request, for answers without usage. */
  readonly #inputTokens: number;
  #input: ModelUsage | undefined;
  #final: ModelUsage | undefined;
  #bytes = 0;
  #created: ProviderJson | undefined;
  #sequenceNumber = 0;
  #finishReason: string | undefined;
  #responseId: string | undefined;
  #model: string | undefined;
  #serviceTier: string | undefined;
  #toolCalls: string[] = [];
  #isComplete = false;
  #errorType: string | undefined;

  constructor(api: ModelApi, inputTokens: number) {
    this.#api = api;
    this.#inputTokens = inputTokens;
  }

  /** Tokens of the answer so far, counted. */
  get outputTokens(): number {
    return Math.max(this.#final?.outputTokens ?? 0, this.#countedTokens);
  }

  /** How far the stream has come. */
  get progress(): StreamProgress {
    return { created: this.#created, sequenceNumber: this.#sequenceNumber };
  }

  /** The id of the answer, once the provider has told it. */
  get responseId(): string | undefined {
    return this.#responseId;
  }

  frame(frame: ProviderFrame): void {
    const { data, event } = frame;
    if (data === undefined) return;
    if (data === '[DONE]') {
      this.#isComplete = true;
      if (this.#api === 'chat') this.#final = this.#input;
      return;
    }
    const text = textIn(this.#api, data);
    if (text !== undefined) {
      this.#bytes += text;
      return;
    }
    const read = frame.object;
    if (read === undefined) return;
    if (this.#api === 'messages') this.#anthropicEvent(read, event);
    else if (this.#api === 'responses') this.#responsesEvent(read);
    else if (this.#api === 'generate') this.#geminiChunk(read);
    else this.#chatChunk(read);
  }

  /** A whole answer with status 200. */
  whole(body: Uint8Array): void {
    const text = new TextDecoder().decode(body);
    if (this.#api === 'generate' && text.trimStart().startsWith('[')) {
      this.#geminiList(text);
      return;
    }
    const read = parseObject(text);
    if (read === undefined) return;
    this.#isComplete = true;
    if (this.#api === 'messages') {
      this.#anthropicMessage(read);
      this.#final = readAnthropicUsage(read.usage);
      this.#finishReason = readText(read.stop_reason);
      for (const block of readList(read.content)) this.#noteAnthropicBlock(block);
    } else if (this.#api === 'responses') {
      this.#response(read);
    } else if (this.#api === 'generate') {
      this.#geminiChunk(read);
    } else {
      // An embedding has the usage of a chat, without output.
      this.#chatChunk(read);
    }
  }

  end(): MeteredAnswer {
    return {
      ...this.#usage(),
      finishReason: this.#finishReason,
      responseId: this.#responseId,
      model: this.#model,
      serviceTier: this.#serviceTier,
      toolCalls: this.#toolCalls,
      isComplete: this.#isComplete,
      errorType: this.#errorType,
    };
  }

  get #countedTokens(): number {
    return Math.ceil(this.#bytes / BYTES_PER_TOKEN);
  }

  #usage(): Pick<MeteredAnswer, 'usage' | 'usageSource'> {
    if (this.#final !== undefined) return { usage: this.#final, usageSource: 'provider' };
    const outputTokens = this.#countedTokens;
    if (this.#input !== undefined) {
      const inputTokens = this.#input.inputTokens ?? 0;
      const counted = Math.max(outputTokens, this.#input.outputTokens ?? 0);
      const usage = { ...this.#input, outputTokens: counted, totalTokens: inputTokens + counted };
      return { usage, usageSource: 'partial' };
    }
    const totalTokens = this.#inputTokens + outputTokens;
    const usage = { inputTokens: this.#inputTokens, outputTokens, totalTokens };
    return { usage, usageSource: outputTokens === 0 ? 'estimated' : 'counted' };
  }

  #anthropicEvent(read: ProviderJson, event: string | undefined): void {
    switch (read.type ?? event) {
      case 'message_start':
        if (isJsonObject(read.message)) {
          this.#anthropicMessage(read.message);
          this.#input = readAnthropicUsage(read.message.usage);
        }
        return;
      case 'content_block_start':
        this.#noteAnthropicBlock(read.content_block);
        return;
      case 'content_block_delta':
        if (isJsonObject(read.delta)) this.#bytes += lengthOf(read.delta);
        return;
      case 'message_delta':
        if (isJsonObject(read.delta)) this.#finishReason = readText(read.delta.stop_reason) ?? this.#finishReason;
        this.#final = this.#withInput(readAnthropicUsage(read.usage)) ?? this.#final;
        return;
      case 'message_stop':
        this.#isComplete = true;
        return;
      case 'error':
        this.#noteError(read.error);
        return;
      default:
    }
  }

  /** The last event repeats only counts that may have changed. */
  #withInput(last: ModelUsage | undefined): ModelUsage | undefined {
    if (last?.outputTokens === undefined) return undefined;
    const inputTokens = Math.max(last.inputTokens ?? 0, this.#input?.inputTokens ?? 0);
    return { ...this.#input, ...last, inputTokens, totalTokens: inputTokens + last.outputTokens };
  }

  #anthropicMessage(message: ProviderJson): void {
    this.#responseId = readText(message.id);
    this.#model = readText(message.model);
    this.#serviceTier = isJsonObject(message.usage) ? readText(message.usage.service_tier) : undefined;
  }

  #noteAnthropicBlock(block: unknown): void {
    if (!isJsonObject(block)) return;
    if (block.type === 'tool_use') this.#noteTool(block.name);
    else if (typeof block.text === 'string') this.#bytes += Buffer.byteLength(block.text);
  }

  #chatChunk(read: ProviderJson): void {
    if (read.error !== undefined) this.#noteError(read.error);
    this.#responseId ??= readText(read.id);
    this.#model ??= readText(read.model);
    this.#serviceTier = readText(read.service_tier) ?? this.#serviceTier;
    for (const choice of readList(read.choices)) {
      if (!isJsonObject(choice)) continue;
      this.#finishReason = readText(choice.finish_reason) ?? this.#finishReason;
      const message = choice.delta ?? choice.message;
      if (!isJsonObject(message)) continue;
      this.#bytes += lengthOf(message);
      for (const call of readList(message.tool_calls)) this.#noteChatTool(call);
      this.#noteChatTool({ function: message.function_call });
    }
    // Some servers report the usage so far in every chunk: only that of a finished answer is the whole.
    const usage = readChatUsage(read.usage) ?? this.#input;
    this.#input = usage;
    if (this.#isComplete || this.#finishReason !== undefined) this.#final = usage;
  }

  #responsesEvent(read: ProviderJson): void {
    if (typeof read.sequence_number === 'number') this.#sequenceNumber = read.sequence_number;
    switch (read.type) {
      case 'response.created':
        if (!isJsonObject(read.response)) return;
        this.#created = read.response;
        this.#responseId = readText(read.response.id);
        this.#model = readText(read.response.model);
        return;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        this.#isComplete = true;
        if (isJsonObject(read.response)) this.#response(read.response);
        return;
      case 'error':
        this.#noteError(read.error ?? read);
        return;
      default:
        if (typeof read.delta === 'string') this.#bytes += Buffer.byteLength(read.delta);
    }
  }

  /** A whole response, or that of the last event. */
  #response(response: ProviderJson): void {
    this.#responseId = readText(response.id) ?? this.#responseId;
    this.#model = readText(response.model) ?? this.#model;
    this.#serviceTier = readText(response.service_tier) ?? this.#serviceTier;
    this.#final = readResponsesUsage(response.usage) ?? this.#final;
    const { incomplete_details: details, error } = response;
    const reason = isJsonObject(details) ? readText(details.reason) : undefined;
    this.#finishReason = reason ?? readText(response.status);
    if (isJsonObject(error)) this.#noteError(error);
    for (const item of readList(response.output)) {
      if (isJsonObject(item) && (item.type === 'function_call' || item.type === 'custom_tool_call')) {
        this.#noteTool(item.name);
      }
    }
  }

  /** A stream of Gemini without `alt=sse` is one list. */
  #geminiList(text: string): void {
    for (const chunk of readList(parse(text))) if (isJsonObject(chunk)) this.#geminiChunk(chunk);
  }

  /** Each chunk repeats the usage so far. A finish reason is what completes the answer. */
  #geminiChunk(read: ProviderJson): void {
    if (read.error !== undefined) this.#noteError(read.error);
    this.#responseId ??= readText(read.responseId);
    this.#model ??= readText(read.modelVersion);
    const usage = readGeminiUsage(read.usageMetadata) ?? this.#input;
    this.#input = usage;
    for (const candidate of readList(read.candidates)) {
      if (isJsonObject(candidate)) this.#geminiCandidate(candidate);
    }
    if (this.#isComplete) this.#final = usage;
  }

  #geminiCandidate(candidate: ProviderJson): void {
    const reason = readText(candidate.finishReason);
    this.#finishReason ??= reason;
    this.#isComplete ||= reason !== undefined;
    const parts = isJsonObject(candidate.content) ? readList(candidate.content.parts) : [];
    for (const part of parts) {
      if (!isJsonObject(part)) continue;
      this.#bytes += lengthOf(part);
      if (isJsonObject(part.functionCall)) this.#noteTool(part.functionCall.name);
    }
  }

  #noteChatTool(call: unknown): void {
    if (!isJsonObject(call)) return;
    const called = isJsonObject(call.custom) ? call.custom : call.function;
    if (!isJsonObject(called)) return;
    if (typeof called.name === 'string' && called.name !== '') this.#noteTool(called.name);
    const args = called.arguments ?? called.input;
    if (typeof args === 'string') this.#bytes += Buffer.byteLength(args);
  }

  #noteTool(name: unknown): void {
    const text = readText(name);
    if (text !== undefined && this.#toolCalls.length < MAX_TOOL_CALLS) this.#toolCalls.push(text);
  }

  #noteError(error: unknown): void {
    this.#errorType = (isJsonObject(error) ? readText(error.type) : undefined) ?? 'error';
  }
}

/** Text deltas of Anthropic, the bulk of a stream. Their length is enough. */
const TEXT_DELTA =
  /^\{"type":"content_block_delta","index":\d+,"delta":\{"type":"text_delta","text":"((?:[^"\\]|\\.)*)"\}\s*\}$/;

function textIn(api: ModelApi, data: string): number | undefined {
  if (api !== 'messages' || !data.includes('"text_delta"')) return undefined;
  const text = TEXT_DELTA.exec(data)?.[1];
  return text === undefined ? undefined : Buffer.byteLength(text);
}

function parseObject(text: string): ProviderJson | undefined {
  const read = parse(text);
  return isJsonObject(read) ? read : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A provider that sends something else than JSON, or a list that was cut, has nothing to count.
    return undefined;
  }
}

/** A text of the provider in a form that can be stored. */
function readText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return value.slice(0, MAX_TEXT_CHARS).toWellFormed().replaceAll('\u0000', '\ufffd');
}

function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

const TEXTS = ['text', 'thinking', 'partial_json', 'content', 'reasoning_content', 'reasoning', 'refusal'] as const;

function lengthOf(delta: ProviderJson): number {
  let bytes = 0;
  for (const name of TEXTS) {
    const text = delta[name];
    if (typeof text === 'string') bytes += Buffer.byteLength(text);
  }
  return bytes;
}
