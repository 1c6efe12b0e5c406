/** Why a breaker opened, in words. */
export const BREAKER_WORDS: Readonly<Record<string, string>> = {
  tokens: 'too many tokens',
  iterations: 'too many model calls',
  cost: 'too expensive',
  failures: 'failures in a row',
  confidence: 'confidence fell',
  operator: 'by an operator',
};
