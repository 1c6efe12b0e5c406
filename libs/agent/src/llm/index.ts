export { type AiSdkModel, fromAiSdkModel } from './ai-sdk-model.ts';
export { type AnthropicOptions, anthropic } from './anthropic.ts';
export { type ModelFactory, type ModelSource, type ProviderPoolOptions, providerPool } from './fallback.ts';
export {
  type ModelNeed,
  type ModelProvider,
  ProviderHealth,
  type ProviderStats,
  type SelectProvider,
} from './model-provider.ts';
export { type OpenaiCompatibleOptions, openaiCompatible } from './openai-compatible.ts';
export { costOf, knownCost, type Price } from './prices.ts';
export type { ModelRetry } from './retry.ts';
export { byCost, byLatency, byPriority } from './select-provider.ts';
