const STANDARD_TIERS: ReadonlySet<string> = new Set(['', 'default', 'standard', 'standard_only', 'auto', 'on_demand']);

/** Half price for results within a day: the pricing pages of OpenAI, Anthropic and the Gemini API. */
const BATCH_AT_HALF_PRICE: ReadonlySet<string> = new Set(['openai', 'anthropic', 'google']);

/** Priority prices of OpenAI divided by its standard prices (openai.com/api-priority-processing). */
const OPENAI_PRIORITY: Readonly<Record<string, number>> = {
  'gpt-5.5': 2.5,
  'gpt-5.4': 2,
  'gpt-5.4-mini': 2,
  'gpt-5.2': 2,
  'gpt-5.1': 2,
  'gpt-5.1-codex': 2,
  'gpt-5': 2,
  'gpt-5-codex': 2,
  'gpt-5-mini': 1.8,
  'gpt-4.1': 1.75,
  'gpt-4.1-mini': 1.75,
  'gpt-4.1-nano': 2,
  'gpt-4o': 1.7,
  'gpt-4o-mini': 5 / 3,
  o3: 1.75,
  'o4-mini': 2 / 1.1,
};

/** Whether a tier has the standard price. */
export function isStandardTier(tier: string): boolean {
  return STANDARD_TIERS.has(tier.toLowerCase());
}

/** What a tier costs relative to the standard price, or undefined if that is not known. */
export function tierFactor(tier: string | undefined, providerId: string, modelId: string): number | undefined {
  const name = tier?.toLowerCase() ?? '';
  if (STANDARD_TIERS.has(name)) return 1;
  if (name === 'batch') return BATCH_AT_HALF_PRICE.has(providerId) ? 0.5 : undefined;
  if (providerId !== 'openai') return undefined;
  if (name === 'flex') return 0.5;
  return name === 'priority' && Object.hasOwn(OPENAI_PRIORITY, modelId) ? OPENAI_PRIORITY[modelId] : undefined;
}
