export type { IdempotencyStore, IdempotentRequest } from './idempotency-store.ts';
export type { Quota, QuotaAnswer } from './quota.ts';
