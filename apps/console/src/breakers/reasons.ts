/** Reasons for opening a breaker. */
export const BREAKER_REASONS: Readonly<Record<string, string>> = {
  tokens: 'token limit exceeded',
  iterations: 'model call limit exceeded',
  cost: 'cost limit exceeded',
  failures: 'failures in a row',
  confidence: 'confidence dropped',
  operator: 'by an operator',
};
