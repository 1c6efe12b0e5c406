export { type AiSdkModel, fromAiSdkModel } from './ai-sdk-model.ts';
export { type AnthropicOptions, anthropic } from './anthropic.ts';
export { type ModelFactory, type ModelSource, type ProviderPoolOptions, providerPool } from './fallback.ts';
export {
  byCost,
  byLatency,
  byPriority,
  costOf,
  knownCost,
  type ModelNeed,
  type ModelProvider,
  type Price,
  ProviderHealth,
  type ProviderStats,
  type SelectProvider,
} from './model-provider.ts';
export { type OpenaiCompatibleOptions, openaiCompatible } from './openai-compatible.ts';
export type { ModelRetry } from './retry.ts';
