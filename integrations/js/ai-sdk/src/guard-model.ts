import {
  generateGuarded,
  type LanguageModel,
  type LanguageModelParams,
  type RunScope,
  streamGuarded,
} from '@agentlens/sdk/adapter';
import type { AiModule, Dialect } from './shapes.ts';

type Scoped = () => Promise<RunScope>;

const GUARDED = new WeakSet<object>();

interface WrapOptions {
  readonly params: LanguageModelParams;
  readonly model: LanguageModel;
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
    wrapGenerate: async ({ params, model: inner }: WrapOptions) => generateGuarded(await scoped(), inner, params),
    wrapStream: async ({ params, model: inner }: WrapOptions) => streamGuarded(await scoped(), inner, params),
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
