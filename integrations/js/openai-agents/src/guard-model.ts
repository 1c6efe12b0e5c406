import type { Guard, RunScope } from '@agentlens/sdk/adapter';
import { contentOf, messagesOf, parsed } from './messages.ts';
import type { Details, Model, ModelProvider, ModelRequest, ModelResponse, StreamEvent, Usage } from './shapes.ts';

const GUARDED = new WeakSet<object>();

/** A model whose calls are asked about and reported. A name is left to the provider, which is guarded too. */
export function guardModel(guard: Guard, model: unknown, name?: string): unknown {
  if (!isModel(model) || GUARDED.has(model)) return model;
  const about = { name: name ?? model.model ?? model._model ?? model.constructor.name };
  const replaced: Pick<Model, 'getResponse' | 'getStreamedResponse'> = {
    async getResponse(request) {
      const scope = guard.here();
      const { messages, sent } = sending(request);
      const read = (response: ModelResponse) => answerIn(response, about);
      const answer = await scope.callModel(messages, (cleaned) => model.getResponse(sent(cleaned)), {
        model: about,
        read,
      });
      await observeHostedTools(scope, answer);
      return answer;
    },
    async *getStreamedResponse(request): AsyncGenerator<StreamEvent> {
      const scope = guard.here();
      const { messages, sent } = sending(request);
      const call = await scope.beginModel(messages);
      try {
        for await (const event of model.getStreamedResponse(sent(call.messages))) {
          // Reported before it is handed on, so that the calls it asks for follow it in the record.
          if (event.type === 'response_done' && event.response !== undefined) {
            await call.answered(answerIn(event.response, about));
            await observeHostedTools(scope, event.response);
          }
          yield event;
        }
      } catch (error) {
        await call.failed(about, error);
        throw error;
      } finally {
        await call.failed(about, new Error('the stream ended without an answer'));
      }
    },
  };
  const proxy = new Proxy(model, {
    get(target, key) {
      if (Object.hasOwn(replaced, key)) return replaced[key as keyof typeof replaced];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  GUARDED.add(proxy);
  return proxy;
}

export function guardProvider(guard: Guard, provider: ModelProvider): ModelProvider {
  return new Proxy(provider, {
    get(target, key) {
      if (key === 'getModel') return async (name?: string) => guardModel(guard, await target.getModel(name), name);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** The messages of a request, and the request with cleaned ones in their place. */
function sending(request: ModelRequest) {
  const { systemInstructions, input } = request;
  const system = systemInstructions ? [{ role: 'system', content: systemInstructions }] : [];
  const history = messagesOf(input);
  const messages = [...system, ...history.map(({ message }) => message)];
  const sent = (cleaned: readonly { readonly content: unknown }[]): ModelRequest => {
    const [first, rest] = system.length > 0 ? [cleaned[0], cleaned.slice(1)] : [undefined, cleaned];
    if (cleaned.every(({ content }, index) => content === messages[index]?.content)) return request;
    const items = history.flatMap(({ cleaned: put }, index) => put(rest[index]?.content));
    return { ...request, ...(first === undefined ? {} : { systemInstructions: String(first.content) }), input: items };
  };
  return { messages, sent };
}

async function observeHostedTools(scope: RunScope, { output }: ModelResponse): Promise<void> {
  for (const { type, id, name = 'hosted_tool', arguments: args, output: result, status } of output) {
    if (type !== 'hosted_tool_call') continue;
    const error = status === 'failed' ? (result ?? status) : undefined;
    await scope.observeTool({ id, name, args: parsed(args) }, { result, error, durationMs: 0 });
  }
}

/** A model object of another class does not say its name, but the provider's answer does. */
function answerIn({ output, usage, providerData = {} }: ModelResponse, about: { readonly name: string }) {
  const { model: answered, service_tier: serviceTier } = providerData;
  const isNamed = typeof answered === 'string' && answered !== '';
  const counts = usage && tokens(usage, output);
  return {
    content: contentOf(output),
    model: isNamed ? { name: answered } : about,
    usage: counts && typeof serviceTier === 'string' ? { ...counts, serviceTier } : counts,
  };
}

function tokens(usage: Usage, output: ModelResponse['output']) {
  const input = (name: string) => sumDetails(usage.inputTokensDetails, name);
  const web = output.filter(({ type, name }) => type === 'hosted_tool_call' && name === 'web_search_call').length;
  const files = output.filter(({ type, name }) => type === 'hosted_tool_call' && name === 'file_search_call').length;
  return {
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    cacheReadTokens: input('cached_tokens'),
    cacheWriteTokens: input('cache_write_tokens'),
    audioInputTokens: input('audio_tokens'),
    reasoningTokens: sumDetails(usage.outputTokensDetails, 'reasoning_tokens'),
    ...(web === 0 ? {} : { webSearches: web }),
    ...(files === 0 ? {} : { fileSearches: files }),
  };
}

function sumDetails(details: Details | undefined, name: string): number | undefined {
  const counts = [details ?? []].flat().flatMap((detail) => detail[name] ?? []);
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count);
}

function isModel(model: unknown): model is Model {
  return typeof model === 'object' && model !== null && 'getResponse' in model;
}
