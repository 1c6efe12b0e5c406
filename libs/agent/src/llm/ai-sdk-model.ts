import { AgentError } from '../core/agent-error.ts';
import { isPlainObject, type Json, toJson } from '../core/json.ts';
import { type ContentBlock, type Message, mergedMessages } from '../core/message.ts';
import { type TokenUsage, tokensOf } from '../core/token-usage.ts';
import { AnswerBuilder, responseOf } from './answer-builder.ts';
import {
  type CallOptions,
  type LLMClient,
  type ModelInput,
  type ModelPart,
  messagesOf,
  type StopReason,
} from './llm-client.ts';
import { asModelError, cutOff, errorOfStatus } from './model-error.ts';

/** Common part of AI SDK models of specification v2, v3 and v4; none of its packages is needed. */
export interface AiSdkModel {
  readonly specificationVersion: 'v2' | 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

const FINISHED: Readonly<Record<string, StopReason>> = {
  ...{ stop: 'end_turn', 'tool-calls': 'tool_use', length: 'max_tokens', 'content-filter': 'refusal' },
};

/** Adapts an AI SDK model to the runtime. @throws AgentError `invalid_config` for another specification */
export function fromAiSdkModel(model: AiSdkModel): LLMClient {
  const { specificationVersion, provider, modelId } = model;
  if (!['v2', 'v3', 'v4'].includes(specificationVersion))
    throw new AgentError(
      'invalid_config',
      `unsupported model specification ${specificationVersion}; supported are v2, v3 and v4`,
    );
  async function* stream(input: ModelInput, options: CallOptions = {}): AsyncGenerator<ModelPart> {
    const { signal } = options;
    if (options.model !== undefined && options.model !== modelId)
      throw new AgentError(
        'model_invalid_request',
        `${provider} was created for ${modelId} and cannot call ${options.model}`,
      );
    try {
      const { stream: parts } = await model.doStream(requestOf(input, options) as never);
      yield* read(parts, model);
    } catch (error) {
      throw known(provider, error, signal);
    }
  }
  return {
    stream,
    call: (input, options) => responseOf(provider, stream(input, options)),
    getModelInfo: async () => ({ name: modelId, provider, supportsStreaming: true }),
  };
}

function requestOf(input: ModelInput, options: CallOptions) {
  const { system, tools, toolChoice, maxOutputTokens, temperature, stop, output, signal } = options;
  const prompt = mergedMessages(messagesOf(input)).flatMap(promptMessages);
  return {
    prompt: system === undefined ? prompt : [{ role: 'system', content: system }, ...prompt],
    ...{ maxOutputTokens, temperature, stopSequences: stop, abortSignal: signal, includeRawChunks: false },
    ...(output === undefined ? {} : { responseFormat: { type: 'json', schema: output } }),
    ...(tools === undefined || tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, inputSchema }) => ({
            type: 'function',
            name,
            description,
            inputSchema,
          })),
          toolChoice:
            typeof toolChoice === 'object'
              ? { type: 'tool', toolName: toolChoice.name }
              : { type: toolChoice ?? 'auto' },
        }),
  };
}

function promptMessages({ role, content }: Message): object[] {
  if (role === 'assistant') return [{ role, content: content.flatMap(assistantPart) }];
  const results = content.flatMap((block) => (block.type === 'tool_result' ? [resultPart(block)] : []));
  const texts = content.flatMap((block) => (block.type === 'text' ? [{ type: 'text', text: block.text }] : []));
  return [
    ...(results.length === 0 ? [] : [{ role: 'tool', content: results }]),
    ...(texts.length === 0 ? [] : [{ role: 'user', content: texts }]),
  ];
}

function resultPart({ toolUseId, name, content, isError }: Extract<ContentBlock, { type: 'tool_result' }>) {
  const kind = typeof content === 'string' ? 'text' : 'json';
  return {
    type: 'tool-result',
    toolCallId: toolUseId,
    toolName: name,
    output: { type: isError ? `error-${kind}` : kind, value: content },
  };
}

function assistantPart(block: ContentBlock): object[] {
  // The provider's data about a part, such as thinking signatures, is returned to it.
  const own = (opaque: Json | undefined) => (opaque === undefined ? {} : { providerOptions: opaque });
  if (block.type === 'text') return block.text === '' ? [] : [{ type: 'text', text: block.text }];
  if (block.type === 'thinking') return [{ type: 'reasoning', text: block.thinking, ...own(block.opaque) }];
  if (block.type === 'tool_use')
    return [
      { type: 'tool-call', toolCallId: block.id, toolName: block.name, input: block.input, ...own(block.opaque) },
    ];
  return [];
}

async function* read(stream: ReadableStream<unknown>, { provider, modelId }: AiSdkModel): AsyncGenerator<ModelPart> {
  const answer = new AnswerBuilder();
  const named = { id: '', model: modelId };
  const open = new Set<string>();
  for await (const part of stream) {
    if (!isPlainObject(part)) continue;
    const key = `${String(part.type).split('-')[0]} ${String(part.id)}`;
    switch (part.type) {
      case 'response-metadata':
        named.id = typeof part.id === 'string' ? part.id : named.id;
        named.model = typeof part.modelId === 'string' ? part.modelId : named.model;
        break;
      case 'text-delta':
        answer.text(key, String(part.delta));
        yield { type: 'text-delta', text: String(part.delta) };
        break;
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end': {
        const text = part.type === 'reasoning-delta' ? String(part.delta) : '';
        answer.thinking(key, text, metadataOf(part));
        if (text !== '') yield { type: 'thinking-delta', text };
        break;
      }
      case 'tool-input-start':
        open.add(String(part.id));
        break;
      case 'tool-input-delta':
        yield { type: 'tool-input-delta', id: String(part.id), json: String(part.delta) };
        break;
      case 'tool-call': {
        const id = String(part.toolCallId);
        open.delete(id);
        answer.call(`call ${id}`, id, String(part.toolName), metadataOf(part).opaque);
        answer.input(`call ${id}`, String(part.input));
        break;
      }
      case 'error':
        throw part.error;
      case 'finish': {
        const stopReason = finishReason(part, answer, open.size > 0, provider);
        yield {
          type: 'response',
          response: { ...named, content: answer.content(), stopReason, usage: usageOf(part.usage) },
        };
        return;
      }
      default:
    }
  }
  throw cutOff(provider, 'the stream ended without a finish event');
}

/** A broken stream may be reported as an end of unknown kind. */
function finishReason(
  part: Record<string, unknown>,
  answer: AnswerBuilder,
  incomplete: boolean,
  provider: string,
): StopReason {
  const { finishReason: given } = part;
  const reason = isPlainObject(given) ? given.unified : given;
  if (incomplete) throw cutOff(provider, 'a tool call is incomplete');
  if (reason === 'error') throw new AgentError('model_unavailable', `${provider} ended the stream with an error`);
  const known = FINISHED[String(reason)];
  if (known === undefined) throw cutOff(provider, `the stream ended for an unknown reason (${String(reason)})`);
  return answer.hasCalls && known === 'end_turn' ? 'tool_use' : known;
}

function metadataOf({ providerMetadata }: Record<string, unknown>): { readonly opaque?: Json } {
  return providerMetadata === undefined ? {} : { opaque: toJson(providerMetadata, Number.POSITIVE_INFINITY) };
}

/** Numbers in v2, numbers with their parts since v3. */
function usageOf(usage: unknown): TokenUsage {
  if (!isPlainObject(usage)) return tokensOf({});
  const { inputTokens: input, outputTokens: output, cachedInputTokens } = usage;
  const count = (value: unknown) => (typeof value === 'number' ? value : 0);
  const total = (value: unknown) => count(isPlainObject(value) ? value.total : value);
  const [cacheReadTokens, cacheWriteTokens] = isPlainObject(input)
    ? [count(input.cacheRead), count(input.cacheWrite)]
    : [count(cachedInputTokens), 0];
  return tokensOf({ inputTokens: total(input), outputTokens: total(output), cacheReadTokens, cacheWriteTokens });
}

function known(provider: string, error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (isPlainObject(error) && typeof error.statusCode === 'number') {
    // The response started successfully and then broke off.
    if (error.statusCode < 400) return cutOff(provider, 'the stream broke');
    const headers = isPlainObject(error.responseHeaders) ? error.responseHeaders : {};
    const get = (name: string) => (typeof headers[name] === 'string' ? headers[name] : null);
    return errorOfStatus(provider, error.statusCode, { get });
  }
  return asModelError(provider, error, signal);
}
