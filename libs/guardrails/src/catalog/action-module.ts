import type { Trigger } from '@agentlens/contracts';
import type { z } from 'zod';

export interface ActionRequest {
  readonly method: 'POST' | 'PUT' | 'GET';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs?: number;
}

/** What came of a request; the result of the guarded HTTP client in `@agentlens/egress` has this shape. */
export type ActionResponse =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string };

export interface DirectiveOrder {
  readonly tenantId: string;
  readonly agentId: string;
  readonly triggerId: string;
  readonly reason: string;
}

/** Sets standing instructions. Idempotent per trigger; throws when it could not be made durable. */
export interface Directives {
  pause(order: DirectiveOrder): Promise<void>;
  overrideModel(order: DirectiveOrder & { readonly model: string }): Promise<void>;
}

export interface AlertOrder {
  readonly tenantId: string;
  readonly agentId: string;
  readonly runId?: string | undefined;
  readonly ruleId: string;
  readonly triggerId: string;
  readonly triggeredAt: string;
  readonly severity: 'info' | 'warn' | 'error' | 'critical';
  readonly title: string;
  readonly message: string;
}

/** `folded`: one of the same kind is still open and stands for this one too. `held_back`: the tenant has too many. */
export type AlertRaised = 'raised' | 'folded' | 'held_back';

/** Tells people. Idempotent per trigger; throws when it could not be made durable. */
export interface Alerts {
  raise(order: AlertOrder): Promise<AlertRaised>;
}

/** Everything an action may do to the world. */
export interface ActionDependencies {
  /** The same on every attempt of one delivery: receivers recognise a repetition by it. */
  readonly deliveryId: string;
  now(): number;
  send(request: ActionRequest): Promise<ActionResponse>;
  readonly directives: Directives;
  readonly alerts: Alerts;
}

export type ActionOutcome =
  | { readonly kind: 'delivered'; readonly detail?: string; readonly httpStatus?: number }
  | {
      readonly kind: 'retry';
      readonly reason: string;
      /** The receiver asked for this much patience. */
      readonly afterMs?: number;
      readonly httpStatus?: number;
      /** True where the destination itself is unwell (no answer, 5xx): counts for its breaker. */
      readonly destinationDown: boolean;
    }
  | {
      readonly kind: 'rejected';
      readonly reason: string;
      readonly httpStatus?: number;
      /** The receiver said that it is gone for good. */
      readonly disableDestination?: boolean;
    };

interface ActionBase<C> {
  /** Name in `actionType`, snake_case; the folder is the same in kebab-case. */
  readonly type: string;
  readonly title: string;
  readonly description: string;
  /** Strict: unknown keys are refused. */
  readonly config: z.ZodType<C>;
  readonly example: C;
  /**
   * `control` acts on the agent and is retried within seconds; `notification` tells somebody and follows the schedule
   * of Standard Webhooks.
   */
  readonly urgency: 'control' | 'notification';
  /** Config keys whose text (or, for a map, whose values) is sealed at rest, never returned and never logged. */
  readonly secrets: readonly string[];
  /** Config keys that hold an address the platform will call; checked against the egress guard when a rule is written. */
  readonly addresses: readonly string[];
}

/** Carried out after a trigger, at leisure and until it succeeds. */
export interface ExecutedAction<C = unknown> extends ActionBase<C> {
  readonly phases: readonly ['stream'];
  /** False: the action itself does not call its address, so that address holds none of its deliveries up. */
  readonly callsOut?: boolean;
  /** Carries the action out once. Throws only where the tools do; the caller turns that into a retry. */
  execute(config: C, trigger: Trigger, tools: ActionDependencies): Promise<ActionOutcome>;
}

/** What a matched decision rule asks for. `missing`: the call lacks what the action works on. */
export type ActionEffect =
  | { readonly kind: 'block' | 'terminate'; readonly message?: string }
  | { readonly kind: 'ask'; readonly title?: string; readonly expiresInSeconds: number }
  | { readonly kind: 'modify'; readonly args: unknown }
  | { readonly kind: 'allow' }
  | { readonly kind: 'missing' };

/** Is part of the answer to a call: takes effect at once, by what the agent is told. Holds no secrets. */
export interface DecisionAction<C = unknown> extends ActionBase<C> {
  readonly phases: readonly ['decision'];
  /** True: it works on the arguments, and is passed over as `missing` where those are not here whole. */
  readonly changesArguments?: boolean;
  /** True: a human is asked, and the approval is good for one call. */
  readonly asksPeople?: boolean;
  /** Pure. `args`: the arguments as rules before this one left them. */
  effect(config: C, args: unknown): ActionEffect;
}

export type ActionModule<C = unknown> = ExecutedAction<C> | DecisionAction<C>;
