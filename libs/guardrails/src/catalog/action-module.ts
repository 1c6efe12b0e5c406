import type { Trigger } from '@agentlens/contracts';
import type { z } from 'zod';

export interface ActionRequest {
  readonly method: 'POST' | 'PUT' | 'GET';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs?: number;
}

/** Result of a request. The guarded HTTP client in `@agentlens/egress` returns this shape. */
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

/** Sets standing directives. Idempotent per trigger; throws if the directive could not be stored. */
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

/**
 * `folded`: an alert of the same kind is still open and counts this one. `held_back`: the tenant has too many alerts.
 */
export type AlertRaised = 'raised' | 'folded' | 'held_back';

/** Raises alerts. Idempotent per trigger; throws if the alert could not be stored. */
export interface Alerts {
  raise(order: AlertOrder): Promise<AlertRaised>;
}

/** Side effects available to an action. */
export interface ActionDependencies {
  /** The same on every attempt of one delivery, so that receivers can deduplicate. */
  readonly deliveryId: string;
  now(): number;
  send(request: ActionRequest): Promise<ActionResponse>;
  readonly directives: Directives;
  readonly alerts: Alerts;
}

export type ActionOutcome =
  | {
      readonly kind: 'delivered';
      readonly detail?: string;
      readonly httpStatus?: number;
      /** Identifies the message at its receiver. */
      readonly receipt?: string;
    }
  | {
      readonly kind: 'retry';
      readonly reason: string;
      /** Delay that the receiver asked for. */
      readonly afterMs?: number;
      readonly httpStatus?: number;
      /** True if the destination itself is failing (no answer, 5xx): counts towards its breaker. */
      readonly destinationDown: boolean;
    }
  | {
      readonly kind: 'rejected';
      readonly reason: string;
      readonly httpStatus?: number;
      /** True if the receiver reported that it is permanently gone. */
      readonly disableDestination?: boolean;
    };

interface ActionBase<C> {
  /** Name in `actionType`, snake_case; the folder has the same name in kebab-case. */
  readonly type: string;
  readonly title: string;
  readonly description: string;
  /** Strict: unknown keys are rejected. */
  readonly config: z.ZodType<C>;
  readonly example: C;
  /**
   * `control` acts on the agent and is retried within seconds; `notification` notifies a receiver and follows the retry
   * schedule of Standard Webhooks.
   */
  readonly urgency: 'control' | 'notification';
  /** Config keys whose text (or, for a map, whose values) is sealed at rest, never returned and never logged. */
  readonly secrets: readonly string[];
  /** Config keys that hold an address the platform will call. The egress guard checks them when a rule is written. */
  readonly addresses: readonly string[];
}

/** Executed asynchronously after a trigger and retried until it succeeds. */
export interface ExecutedAction<C = unknown> extends ActionBase<C> {
  readonly phases: readonly ['stream'];
  /**
   * False if the action does not call its address itself, so the address's breaker and pace do not delay its
   * deliveries.
   */
  readonly callsOut?: boolean;
  /** Executes the action once. Throws only if `tools` throw; the caller turns that into a retry. */
  execute(config: C, trigger: Trigger, tools: ActionDependencies): Promise<ActionOutcome>;
}

/** Effect that a matched decision rule requests. `missing`: the call lacks what the action works on. */
export type ActionEffect =
  | { readonly kind: 'block' | 'terminate'; readonly message?: string }
  | { readonly kind: 'ask'; readonly title?: string; readonly expiresInSeconds: number }
  | { readonly kind: 'modify'; readonly args: unknown }
  | { readonly kind: 'allow' }
  | { readonly kind: 'missing' };

/** Part of the answer to a call, so it takes effect immediately. Holds no secrets. */
export interface DecisionAction<C = unknown> extends ActionBase<C> {
  readonly phases: readonly ['decision'];
  /** True if it works on the arguments. It is skipped as `missing` if they were truncated. */
  readonly changesArguments?: boolean;
  /** True if a person is asked. An approval is valid for one call. */
  readonly asksPeople?: boolean;
  /** Pure. `args`: the arguments as left by earlier rules. */
  effect(config: C, args: unknown): ActionEffect;
}

export type ActionModule<C = unknown> = ExecutedAction<C> | DecisionAction<C>;
