import { z } from 'zod';
import { BREAKER_SCOPES } from './breakers.ts';
import { Budget } from './budgets.ts';
import { ClientId, Instant, TenantId } from './ids.ts';
import { GuardrailRule } from './rules.ts';

/** Where decisions are made: at the gateway if it knows enough, or always at the evaluator. */
export const DECISION_PATHS = ['evaluator', 'gateway'] as const;
export type DecisionPath = (typeof DECISION_PATHS)[number];

/** What an evaluator decides by for one tenant, besides orders and state. */
export const TenantBook = z.object({
  /** Hash of the content, so that replicas of the evaluator agree. */
  version: z.string(),
  /** Hash of the breaker limits. */
  limitsVersion: z.string(),
  /** The decision rules in force. Their actions have no secrets. */
  rules: z.array(GuardrailRule),
  budgets: z.array(Budget.pick({ enabled: true, scope: true, scopeId: true })),
  /** Breakers that are not closed, as `scope/id`. */
  openBreakers: z.array(z.string()),
  /** When the suspension of a rule ends and the book is outdated. */
  endsAt: Instant.optional(),
});
export type TenantBook = z.infer<typeof TenantBook>;

/** `too_large`: the book does not fit into a message, so that the evaluator decides every call of the tenant. */
export const TenantBookAnswer = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('unchanged'), nowMs: z.number() }),
  z.object({ kind: z.literal('book'), nowMs: z.number(), book: TenantBook }),
  z.object({ kind: z.literal('too_large'), nowMs: z.number() }),
]);
export type TenantBookAnswer = z.infer<typeof TenantBookAnswer>;

/** Event: breakers of an agent, its runs or a run tree are open, or open with the next question. Gateways then ask the evaluator. */
export const BreakersDue = z.object({
  tenantId: TenantId,
  breakers: z.array(z.object({ scope: z.enum(BREAKER_SCOPES), scopeId: ClientId })).min(1),
  at: Instant,
});
export type BreakersDue = z.infer<typeof BreakersDue>;
