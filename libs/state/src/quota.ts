export interface QuotaAnswer {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Until the bucket is full again, or, when refused, until `cost` fits. */
  readonly retryAfterMs: number;
}

/** Token bucket per API key, counted in events. A burst of one second's worth is allowed. */
export interface Quota {
  take(keyId: string, cost: number, perSecond: number, nowMs: number): Promise<QuotaAnswer>;
}
