import type { ModelCall, RunScope } from '@agentlens/sdk/adapter';
import type { AiModule, CallParams, ContentPart, Dialect, Model, ModelAnswer, StreamChunk, Usage } from './shapes.ts';

type Scoped = () => Promise<RunScope>;

const GUARDED = new WeakSet<object>();

interface WrapOptions {
  readonly params: CallParams;
  readonly model: Model;
}

/**
 * A model whose calls are asked about and reported. Text is taken for a model's id, as the framework does.
 *
 * @throws TypeError if the module it is given cannot wrap a model
 */
export function guardModel(ai: AiModule, dialect: Dialect, model: unknown, scoped: Scoped): unknown {
  if (model === undefined || model === null || GUARDED.has(model as object)) return model;
  const { wrapLanguageModel } = ai;
  if (wrapLanguageModel === undefined)
    throw new TypeError('guard: give it wrapLanguageModel of the module too, or the whole module');
  const middleware = {
    ...dialect.middleware,
    wrapGenerate: async ({ params, model: inner }: WrapOptions) => {
      const scope = await scoped();
      const answer = await scope.callModel(
        params.prompt,
        (prompt) => inner.doGenerate({ ...params, prompt }) as Promise<ModelAnswer>,
        { model: nameOf(inner), read: ({ content, usage }) => ({ content: content.map(part), usage: tokens(usage) }) },
      );
      await observed(scope, answer.content);
      return answer;
    },
    wrapStream: async ({ params, model: inner }: WrapOptions) => {
      const scope = await scoped();
      const call = await scope.beginModel(params.prompt);
      try {
        const answer = await inner.doStream({ ...params, prompt: call.messages });
        return { ...answer, stream: reported(answer.stream, { scope, call, model: inner }) };
      } catch (error) {
        await call.failed(nameOf(inner), error);
        throw error;
      }
    },
  };
  const wrapped = wrapLanguageModel({ model: resolved(model, ai), middleware }) as object;
  GUARDED.add(wrapped);
  return wrapped;
}

function resolved(model: unknown, { gateway }: AiModule): unknown {
  if (typeof model !== 'string') return model;
  const { AI_SDK_DEFAULT_PROVIDER: provider = gateway } = globalThis as { AI_SDK_DEFAULT_PROVIDER?: typeof gateway };
  if (provider === undefined) throw new TypeError(`guard: give it gateway of the module too, to find ${model}`);
  return provider.languageModel(model);
}

const nameOf = ({ modelId: name, provider }: Model) => ({ name, provider });

/** A model call is reported before its last chunk is handed on, so that what follows it follows in the record too. */
function reported(
  stream: ReadableStream<StreamChunk>,
  { scope, call, model }: { scope: RunScope; call: ModelCall; model: Model },
): ReadableStream<StreamChunk> {
  const reader = stream.getReader();
  const texts = new Map<string, string>();
  const parts: ContentPart[] = [];
  const answered = (usage: Usage | undefined) => {
    const text = [...texts.values()].join('');
    const content = [...(text === '' ? [] : [{ type: 'text', text }]), ...parts.map(part)];
    return call.answered({ content, model: nameOf(model), usage: tokens(usage) });
  };
  return new ReadableStream<StreamChunk>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          await answered(undefined);
          controller.close();
          return;
        }
        if (value.type === 'text-delta') texts.set(value.id ?? '', (texts.get(value.id ?? '') ?? '') + textOf(value));
        if (value.type === 'tool-call' || value.type === 'tool-result') parts.push(value);
        if (value.type === 'error') await call.failed(nameOf(model), value.error);
        if (value.type === 'finish') {
          await answered(value.usage);
          await observed(scope, parts);
        }
        controller.enqueue(value);
      } catch (error) {
        await call.failed(nameOf(model), error);
        controller.error(error);
      }
    },
    async cancel(reason) {
      await call.failed(nameOf(model), reason ?? new Error('the stream was given up'));
      await reader.cancel(reason);
    },
  });
}

function textOf({ delta }: StreamChunk): string {
  return typeof delta === 'string' ? delta : '';
}

/** A call's arguments arrive as JSON text; everything else is recorded as it is. */
function part(given: ContentPart): ContentPart {
  if (given.type !== 'tool-call') return given;
  const { toolCallId, toolName, input } = given;
  return { type: 'tool_call', toolCallId, toolName, args: parsed(input) };
}

function parsed(input: unknown): unknown {
  if (typeof input !== 'string') return input;
  try {
    return JSON.parse(input);
  } catch {
    // A model may write what is not JSON; the framework tells it so.
    return input;
  }
}

/** Tools that ran at the provider come with the answer. */
async function observed(scope: RunScope, content: readonly ContentPart[]): Promise<void> {
  for (const { type, toolCallId, toolName = '', result, isError } of content) {
    if (type !== 'tool-result') continue;
    const input = content.find((other) => other.type === 'tool-call' && other.toolCallId === toolCallId)?.input;
    const error = isError === true ? result : undefined;
    await scope.observeTool({ id: toolCallId, name: toolName, args: parsed(input) }, { result, error, durationMs: 0 });
  }
}

function tokens(usage: Usage | undefined) {
  if (usage === undefined) return undefined;
  const { inputTokens, outputTokens, cachedInputTokens } = usage;
  const details = typeof inputTokens === 'object' ? inputTokens : {};
  return {
    inputTokens: total(inputTokens),
    outputTokens: total(outputTokens),
    cacheReadTokens: details.cacheRead ?? cachedInputTokens,
    cacheWriteTokens: details.cacheWrite,
  };
}

function total(count: Usage['inputTokens']): number | undefined {
  return typeof count === 'object' ? count.total : count;
}
