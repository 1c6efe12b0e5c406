import { parsedArguments, readAnswerUsage, readParts } from '../wire/model-response.ts';
import type { ModelCall } from './model-call.ts';
import type { RunScope } from './run-scope.ts';

/*
 * The parts of the AI SDK's model interface, versions 2 to 4, that adapters use. It is here because several frameworks
 * accept such models. It names none of their types, so it needs no dependency.
 */

interface PromptMessage {
  readonly role: string;
  readonly content: unknown;
}

export interface LanguageModelParams {
  readonly prompt: readonly PromptMessage[];
}

interface ContentPart {
  readonly type: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly result?: unknown;
  readonly isError?: boolean;
  readonly providerExecuted?: boolean;
  readonly [field: string]: unknown;
}

type Tokens = number | { readonly total?: number; readonly cacheRead?: number; readonly cacheWrite?: number };

interface Usage {
  readonly inputTokens?: Tokens;
  readonly outputTokens?: Tokens;
  readonly cachedInputTokens?: number;
}

/** An answer, or the last chunk of a stream. */
interface Counted {
  readonly usage?: Usage;
  /** What only the provider reports. */
  readonly providerMetadata?: Readonly<Record<string, unknown>>;
}

interface ModelAnswer extends Counted {
  readonly content: readonly ContentPart[];
}

interface StreamChunk extends ContentPart, Counted {
  readonly id?: string;
  readonly delta?: string;
  readonly error?: unknown;
}

export interface LanguageModel {
  readonly modelId: string;
  readonly provider: string;
  doGenerate(params: LanguageModelParams): PromiseLike<ModelAnswer>;
  doStream(params: LanguageModelParams): PromiseLike<{ readonly stream: ReadableStream<StreamChunk> }>;
}

/** Decides about one `doGenerate` call and reports it. */
export async function generateGuarded(
  scope: RunScope,
  model: LanguageModel,
  params: LanguageModelParams,
): Promise<unknown> {
  const answer = await scope.callModel(
    params.prompt,
    (prompt) => model.doGenerate({ ...params, prompt }) as Promise<ModelAnswer>,
    {
      model: nameOf(model),
      read: (given) => ({ content: readParts(given.content) ?? [], usage: usageOf(given, given.content) }),
    },
  );
  await observed(scope, answer.content);
  return answer;
}

/** Decides about one `doStream` call and reports it when the stream ends. */
export async function streamGuarded(
  scope: RunScope,
  model: LanguageModel,
  params: LanguageModelParams,
): Promise<unknown> {
  const call = await scope.beginModel(params.prompt);
  try {
    const answer = await model.doStream({ ...params, prompt: call.messages });
    return { ...answer, stream: reported(answer.stream, { scope, call, model }) };
  } catch (error) {
    await call.failed(nameOf(model), error);
    throw error;
  }
}

const nameOf = ({ modelId: name, provider }: LanguageModel) => ({ name, provider });

/** Reports a model call before its last chunk is forwarded, so that later records follow it in order. */
function reported(
  stream: ReadableStream<StreamChunk>,
  { scope, call, model }: { scope: RunScope; call: ModelCall; model: LanguageModel },
): ReadableStream<StreamChunk> {
  const reader = stream.getReader();
  const texts = new Map<string, string>();
  const parts: ContentPart[] = [];
  const answered = (counted: Counted) => {
    const text = [...texts.values()].join('');
    const content = [...(text === '' ? [] : [{ type: 'text', text }]), ...(readParts(parts) ?? [])];
    return call.answered({ content, model: nameOf(model), usage: usageOf(counted, parts) });
  };
  return new ReadableStream<StreamChunk>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          await answered({});
          controller.close();
          return;
        }
        if (value.type === 'text-delta') texts.set(value.id ?? '', (texts.get(value.id ?? '') ?? '') + textOf(value));
        if (value.type === 'tool-call' || value.type === 'tool-result') parts.push(value);
        if (value.type === 'error') await call.failed(nameOf(model), value.error);
        if (value.type === 'finish') {
          await answered(value);
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

/** Searches that the provider ran come as calls in the answer, unless the provider counts them. */
function usageOf({ usage, providerMetadata }: Counted, content: readonly ContentPart[]) {
  const read = readAnswerUsage({ usage, providerMetadata });
  const searches = content.filter(({ type, toolName = '', providerExecuted }) => {
    return type === 'tool-call' && providerExecuted === true && toolName.startsWith('web_search');
  }).length;
  return read === undefined || searches === 0 ? read : { webSearches: searches, ...read };
}

function textOf({ delta }: StreamChunk): string {
  return typeof delta === 'string' ? delta : '';
}

/** Records tools that the provider ran; their results come with the answer. */
async function observed(scope: RunScope, content: readonly ContentPart[]): Promise<void> {
  for (const { type, toolCallId, toolName = '', result, isError } of content) {
    if (type !== 'tool-result') continue;
    const input = content.find((other) => other.type === 'tool-call' && other.toolCallId === toolCallId)?.input;
    const error = isError === true ? result : undefined;
    await scope.observeTool(
      { id: toolCallId, name: toolName, args: parsedArguments(input) },
      { result, error, durationMs: 0 },
    );
  }
}
