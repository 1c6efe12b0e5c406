import {
  type Guard,
  generateGuarded,
  type LanguageModel,
  type LanguageModelParams,
  streamGuarded,
} from '@agentlens/sdk/adapter';

const GUARDED = new WeakSet<object>();

/** A model whose calls are asked about and reported. A value that is not a model is resolved by the agent, which then passes the model. */
export function guardModel(guard: Guard, model: unknown): unknown {
  if (!isModel(model) || GUARDED.has(model)) return model;
  const replaced = {
    doGenerate: async (params: LanguageModelParams) => generateGuarded(guard.here(), model, params),
    doStream: async (params: LanguageModelParams) => streamGuarded(guard.here(), model, params),
  };
  const proxy = new Proxy(model, {
    get(target, key) {
      if (key === 'doGenerate' || key === 'doStream') return replaced[key];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  GUARDED.add(proxy);
  return proxy;
}

function isModel(model: unknown): model is LanguageModel {
  return typeof model === 'object' && model !== null && 'doGenerate' in model;
}
