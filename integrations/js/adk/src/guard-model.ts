import { type Guard, readAnswerUsage } from '@agentlens/sdk/adapter';
import { guardTool } from './guard-tool.ts';
import { contentOf, recorded, systemOf } from './messages.ts';
import type { LlmRequest, LlmResponse, Model } from './shapes.ts';

const GUARDED = new WeakMap<object, Model>();

/**
 * A model whose calls are asked about and reported. The tools of a request are guarded here too: the framework executes
 * those, also the ones that it adds by itself, such as `transfer_to_agent`.
 */
export function guardModel(guard: Guard, model: Model): Model {
  const known = GUARDED.get(model);
  if (known !== undefined) return known;
  const copy = Object.create(model, {
    generateContentAsync: {
      value: (request: LlmRequest, stream?: boolean, signal?: AbortSignal) => {
        for (const [name, tool] of Object.entries(request.toolsDict)) request.toolsDict[name] = guardTool(guard, tool);
        return guarded(guard, model, request, (sent) => model.generateContentAsync(sent, stream, signal));
      },
      configurable: true,
      writable: true,
    },
  }) as Model;
  GUARDED.set(model, copy);
  GUARDED.set(copy, copy);
  return copy;
}

async function* guarded(
  guard: Guard,
  model: Model,
  request: LlmRequest,
  generate: (request: LlmRequest) => AsyncGenerator<LlmResponse, void>,
): AsyncGenerator<LlmResponse, void> {
  const scope = guard.here();
  const system = systemOf(request);
  const history = request.contents.map(recorded);
  const before = [...system, ...history.flatMap(({ parts }) => parts)];
  const call = await scope.beginModel(before);
  const contents = call.messages.map(({ content }) => content);
  const about = { name: model.model, provider: 'google' };
  const unchanged = contents.every((content, index) => content === before[index]?.content);
  try {
    for await (const response of generate(unchanged ? request : cleaned(request, history, contents, system.length))) {
      const { content, partial, usageMetadata: usage, errorCode, errorMessage } = response;
      // Reported before it is handed on, so that the calls it asks for follow it in the record.
      if (errorCode !== undefined) await call.failed(about, new Error(errorMessage ?? errorCode));
      else if (partial !== true)
        await call.answered({
          content: contentOf(content?.parts ?? []),
          model: about,
          usage: readAnswerUsage({ usage }),
        });
      yield response;
    }
  } catch (error) {
    await call.failed(about, error);
    throw error;
  } finally {
    await call.failed(about, new Error('the model call ended without an answer'));
  }
}

function cleaned(
  request: LlmRequest,
  history: readonly ReturnType<typeof recorded>[],
  contents: readonly unknown[],
  systemCount: number,
): LlmRequest {
  let at = systemCount;
  const sent = history.map(({ parts, cleaned: put }, index) => {
    const own = contents.slice(at, at + parts.length);
    at += parts.length;
    const same = own.every((content, part) => content === parts[part]?.content);
    return same ? (request.contents[index] ?? {}) : put(own);
  });
  const config = systemCount === 0 ? request.config : { ...request.config, systemInstruction: contents[0] };
  return { ...request, config, contents: sent };
}
