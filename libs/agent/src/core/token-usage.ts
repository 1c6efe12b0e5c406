/** Tokens of one or many model calls. `total` includes sub-agents; `children` lists them separately. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly total: number;
  readonly children: number;
}

export const NO_TOKENS: TokenUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  total: 0,
  children: 0,
};

export function tokensOf(used: Partial<Omit<TokenUsage, 'total' | 'children'>>): TokenUsage {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = used;
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    total: inputTokens + outputTokens,
    children: 0,
  };
}

export function addTokens(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    total: a.total + b.total,
    children: a.children + b.children,
  };
}

/** A child's tokens as its parent counts them. */
export function asChildTokens(used: TokenUsage): TokenUsage {
  return { ...NO_TOKENS, total: used.total, children: used.total };
}
