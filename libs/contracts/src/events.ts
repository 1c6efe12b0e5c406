import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

export const EVENT_KINDS = [
  'run.started',
  'run.ended',
  'llm.called',
  'llm.completed',
  'tool.called',
  'tool.decided',
  'tool.completed',
  'message.created',
  'error.raised',
  'cost.recorded',
  'approval.requested',
  'approval.decided',
  'custom.recorded',
  'agent.registered',
] as const;
export const EventKind = z.enum(EVENT_KINDS);
export type EventKind = z.infer<typeof EventKind>;

export const SEVERITIES = ['debug', 'info', 'warn', 'error', 'critical'] as const;
export const Severity = z.enum(SEVERITIES);
export type Severity = z.infer<typeof Severity>;

export const JsonObject = z.record(z.string(), z.unknown());
export type JsonObject = z.infer<typeof JsonObject>;

/**
 * Source of an event's cost: reported by the client, from the price table, or unknown. `unpriced` means that tokens
 * were used but no price is known; it is shown and never silently counted as zero.
 */
export const CostSource = z.enum(['reported', 'priced', 'unpriced']);
export type CostSource = z.infer<typeof CostSource>;

const Amount = z.number().nonnegative().optional();

/**
 * Quantities extracted from the payload by the gateway, in normal form: each kind of token that vendors bill, as a
 * count; costs in USD; latency in milliseconds.
 */
/**
 * `provider`: the provider's own usage, passed on beside the counts of a framework. `computed`: derived from other
 * counts, for example from the total.
 */
const CountsFrom = z.enum(['provider', 'computed']);

export const Usage = z.object({
  /** Includes cached reads and writes, and audio. */
  inputTokens: Amount,
  /** Includes thinking and audio. */
  outputTokens: Amount,
  totalTokens: Amount,
  cacheReadTokens: Amount,
  /** Includes `cacheWrite1hTokens`. */
  cacheWriteTokens: Amount,
  /** Cache writes that live for an hour; vendors charge more for them. */
  cacheWrite1hTokens: Amount,
  reasoningTokens: Amount,
  audioInputTokens: Amount,
  audioOutputTokens: Amount,
  /** Audio that was read from the cache: a part of both the cached reads and the audio of the input. */
  cacheReadAudioTokens: Amount,
  /** Web searches that the provider ran during the call; vendors charge a fee for each. */
  webSearches: Amount,
  /** Searches of the vendor's own file store. */
  fileSearches: Amount,
  /** Where the counts come from, if the client or its instrumentation did not simply count them. */
  countsFrom: CountsFrom.optional(),
  /** The adapter or instrumentation that reported the call, with its version. */
  reportedBy: z.string().max(300).optional(),
  /** The tier that served the call, as the vendor names it: `default`, `flex`, `priority`, `batch`. */
  serviceTier: z.string().max(100).optional(),
  costUsd: Amount,
  costSource: CostSource.optional(),
  /** By the price list, even if the client reported another cost. */
  computedCostUsd: Amount,
  /** Part of the computed cost: fees for searches. */
  feesUsd: Amount,
  /** Why the computed cost may differ from the invoice. */
  approximation: z.string().optional(),
  /** The price that was used: `table@<version>` or `override:<id>@<version>`. */
  priceRef: z.string().optional(),
  /** Why there is no cost, if `costSource` is `unpriced`. */
  unpricedReason: z.string().optional(),
  /** What an unpriced call costs at most: the price of the dearest model of its provider. */
  estimatedCostUsd: Amount,
  latencyMs: Amount,
});
export type Usage = z.infer<typeof Usage>;

/** Outcome of a run, if the event (`run.ended`) reports it. */
export const RunOutcome = z.enum(['succeeded', 'failed', 'timed_out', 'cancelled', 'interrupted']);
export type RunOutcome = z.infer<typeof RunOutcome>;

/**
 * One immutable fact reported by an agent, in the platform's vocabulary. Only the ingest gateway creates events, from
 * one of the dialects. `sourceType` keeps the client's event type and `payload` its payload.
 */
export const AgentEvent = z.object({
  id: ClientId,
  agentId: ClientId,
  /** One execution. For AgentLens clients this is their session id. */
  runId: ClientId,
  /** Groups runs; absent if the dialect has no such concept. */
  sessionId: ClientId.optional(),
  parentRunId: ClientId.optional(),
  parentToolUseId: ClientId.optional(),
  kind: EventKind,
  /** Vocabulary of `sourceType`: `agentlens`, `handlebar` or `otlp`. */
  dialect: z.string(),
  sourceType: z.string(),
  severity: Severity,
  /** True if the event counts once as an error: severity error or critical, a failed tool, or `error.raised`. */
  isError: z.boolean(),
  /** When it occurred by the client's clock, or derived from the event id. Equal on every retry. */
  occurredAt: Instant,
  /** True if the id comes from the client (or its idempotency key), so that a retry in another batch is recognized. */
  retryable: z.boolean(),
  /** SHA-256 (hex) of the canonical form documented in docs/wire-format.md. */
  hash: z.string(),
  /**
   * End user of the run, for dialects that can report it on every event. In others the payload of the run's start has
   * it.
   */
  actorId: ClientId.optional(),
  agentName: z.string().optional(),
  agentVersion: z.string().optional(),
  toolName: z.string().optional(),
  callId: z.string().optional(),
  model: z.string().optional(),
  provider: z.string().optional(),
  outcome: RunOutcome.optional(),
  usage: Usage.optional(),
  tags: z.array(z.string()).optional(),
  payload: JsonObject,
  metadata: JsonObject,
});
export type AgentEvent = z.infer<typeof AgentEvent>;

/**
 * Unit of transfer: events of one tenant in the order they were accepted. `receivedAt` is the platform's time of
 * acceptance and the "now" of every window that evaluates these events, so that a redelivered batch is evaluated at the
 * same instant.
 */
export const EventBatch = z.object({
  id: z.string().min(1),
  tenantId: TenantId,
  partition: z.string().regex(/^\d\d$/),
  receivedAt: Instant,
  events: z.array(AgentEvent).min(1),
});
export type EventBatch = z.infer<typeof EventBatch>;
