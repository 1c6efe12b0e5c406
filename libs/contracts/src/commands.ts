import { z } from 'zod';
import { JsonObject } from './events.ts';
import { ClientId, TenantId } from './ids.ts';
import { Problem } from './problems.ts';
import { GuardrailRule } from './rules.ts';

/** A question or order to the one service that owns the answer, over core request/reply. */
export interface Command<Q, A> {
  readonly subject: string;
  readonly request: z.ZodType<Q>;
  readonly answer: z.ZodType<A>;
  /** How long the caller waits before it reports the owner as unavailable, ms. */
  readonly deadlineMs: number;
}

/** Refusals are values: the owner says what is wrong, the edge turns it into an HTTP answer. */
export function answerOf<T extends z.ZodType>(value: T) {
  return z.discriminatedUnion('ok', [
    z.object({ ok: z.literal(true), value }),
    z.object({ ok: z.literal(false), problem: Problem }),
  ]);
}

function command<Q extends z.ZodType, A extends z.ZodType>(subject: string, request: Q, answer: A, deadlineMs = 5_000) {
  return { subject, request, answer: answerOf(answer), deadlineMs } as const;
}

const ruleRef = z.object({ tenantId: TenantId, ruleId: z.string() });

export const COMMANDS = {
  /** `body` is what the HTTP client sent: the owner validates it, so that every way in validates alike. */
  createRule: command('guardrail.rules.create', z.object({ tenantId: TenantId, body: z.unknown() }), GuardrailRule),
  updateRule: command('guardrail.rules.update', ruleRef.extend({ body: z.unknown() }), GuardrailRule),
  deleteRule: command('guardrail.rules.delete', ruleRef, z.object({ ok: z.literal(true) })),
  /** Clears the pause, and the model override where asked. Answers the directive now in force. */
  unpauseAgent: command(
    'agent.control.unpause',
    z.object({ tenantId: TenantId, agentId: ClientId, clearModelOverride: z.boolean() }),
    JsonObject,
  ),
  redeliver: command(
    'action.deliveries.redeliver',
    z.object({ tenantId: TenantId, deliveryId: z.string() }),
    z.object({ deliveryId: z.string() }),
  ),
} as const;
