import {
  type Actor,
  type AgentEvent,
  type DecisionPhase,
  type DecisionRequest,
  type EventBatch,
  type EventKind,
  hasHappened,
  MINUTE_MS,
} from '@agentlens/contracts';

/** Columns of a stored event that rules read. */
export interface StoredEventRow {
  readonly event_id: string;
  readonly occurred_at: string;
  readonly received_at: string;
  readonly run_id: string;
  readonly agent_id: string;
  readonly session_id: string | null;
  readonly kind: string;
  readonly dialect: string;
  readonly source_type: string;
  readonly severity: string;
  readonly is_error: boolean;
  readonly tool_name: string | null;
  readonly call_id: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly total_tokens: number | null;
  readonly cost_usd: number | null;
  readonly latency_ms: number | null;
  readonly tags: readonly string[];
  readonly payload: Record<string, unknown>;
  readonly metadata: Record<string, unknown>;
}

/**
 * Rebuilds the event that the evaluator received, as far as rules read it. The table holds each event once, so that no
 * event is recognized as a repetition.
 */
function eventOfRow(row: StoredEventRow): AgentEvent {
  const usage = {
    ...present('inputTokens', row.input_tokens),
    ...present('outputTokens', row.output_tokens),
    ...present('totalTokens', row.total_tokens),
    ...present('costUsd', row.cost_usd),
    ...present('latencyMs', row.latency_ms),
  };
  const failed = row.kind === 'run.ended' && [row.payload.reason, row.payload.status].includes('error');
  return {
    ...{ id: row.event_id, agentId: row.agent_id, runId: row.run_id, kind: row.kind as EventKind },
    ...{ dialect: row.dialect, sourceType: row.source_type, severity: row.severity as AgentEvent['severity'] },
    ...{ isError: row.is_error, occurredAt: row.occurred_at, retryable: false, hash: '' },
    ...present('sessionId', row.session_id),
    ...present('toolName', row.tool_name),
    ...present('callId', row.call_id),
    ...present('model', row.model),
    ...present('provider', row.provider),
    ...(failed ? { outcome: 'failed' as const } : {}),
    ...(Object.keys(usage).length === 0 ? {} : { usage }),
    ...{ tags: [...row.tags], payload: row.payload, metadata: row.metadata },
  };
}

function present<Name extends string, Value>(name: Name, value: Value | null): { [N in Name]?: Value } {
  return value === null ? {} : ({ [name]: value } as { [N in Name]?: Value });
}

/** Columns of a stored decision, with those of its run and agent. */
export interface StoredDecisionRow {
  readonly decision_id: string;
  readonly run_id: string;
  readonly agent_id: string;
  readonly phase: string;
  readonly tool_name: string | null;
  readonly call_id: string | null;
  readonly verdict: string;
  readonly reason: string | null;
  readonly arguments: unknown;
  readonly arguments_cut: unknown;
  readonly inputs_digest: string;
  readonly decided_at: string;
  readonly session_id: string | null;
  readonly actor_id: string | null;
  readonly actor: Record<string, unknown> | null;
  readonly run_tags: Record<string, string> | null;
  /** Tags of the tool that came with the call; null in decisions of earlier versions. */
  readonly tool_tags: readonly string[] | null;
  readonly agent_tags: readonly string[] | null;
  /** Ancestors of the run, nearest first; null without a parent. In a circle they repeat. */
  readonly ancestors: readonly string[] | null;
  /** The tools that the agent has registered, with their tags. */
  readonly agent_tools: readonly unknown[] | null;
}

/** A call that was decided, as far as it is kept. */
export interface PastDecision {
  readonly id: string;
  readonly request: DecisionRequest;
  /** SHA-256 of the arguments as they were. */
  readonly argsHash: string;
  readonly hasArguments: boolean;
  /** False if neither the call nor a registration of its tool says which tags it has. */
  readonly hasToolTags: boolean;
  readonly allowed: boolean;
  /** Why no rule was asked; undefined if rules were. */
  readonly decidedBefore: 'order' | 'breaker' | undefined;
  readonly agentTags: readonly string[];
}

const DEADLINE_MS = 1_000;

/** Rebuilds the question of a stored decision. What is not kept is marked as unread, so that no rule takes it for empty. */
export function decisionOfRow(tenantId: string, row: StoredDecisionRow): PastDecision {
  const hasArguments = row.arguments !== null && row.arguments !== undefined && row.arguments_cut === null;
  const decidedBefore = row.reason === 'order' || row.reason === 'breaker' ? row.reason : undefined;
  const actor = actorOf(row);
  const toolTags = row.tool_tags ?? registeredTags(row);
  return {
    id: row.decision_id,
    request: {
      ...{ tenantId, agentId: row.agent_id, runId: row.run_id, phase: row.phase as DecisionPhase },
      ...(row.tool_name === null ? {} : { tool: { name: row.tool_name, tags: [...(toolTags ?? [])] } }),
      ...(row.call_id === null ? {} : { callId: row.call_id }),
      ...(row.session_id === null ? {} : { sessionId: row.session_id }),
      ...ancestorsOf(row),
      ...(actor === undefined ? {} : { actor }),
      ...(hasArguments ? { args: row.arguments } : {}),
      unread: {
        ...(hasArguments ? {} : { args: { reason: 'unreadable', sha256: row.inputs_digest } }),
        ...(hasHappened(row.phase as DecisionPhase)
          ? { result: { reason: 'unreadable', sha256: row.decision_id } }
          : {}),
      },
      ...{ tags: row.run_tags ?? {}, subjects: [], metrics: {}, receivedAt: row.decided_at, deadlineMs: DEADLINE_MS },
    },
    argsHash: row.inputs_digest,
    hasToolTags: row.tool_name === null || toolTags !== undefined,
    ...{ hasArguments, allowed: row.verdict === 'ALLOW', decidedBefore, agentTags: row.agent_tags ?? [] },
  };
}

/** As the gateway knows them: circles end. */
function ancestorsOf({ run_id, ancestors }: StoredDecisionRow): Pick<DecisionRequest, 'ancestors'> {
  const line = ancestors ?? [];
  const own = line.indexOf(run_id);
  const distinct = [...new Set(own < 0 ? line : line.slice(0, own))];
  return distinct.length === 0 ? {} : { ancestors: distinct };
}

function actorOf({ actor_id, actor }: StoredDecisionRow): Actor | undefined {
  if (actor_id === null) return undefined;
  const metadata = actor?.metadata;
  const known =
    typeof metadata === 'object' && metadata !== null ? { metadata: metadata as Record<string, string> } : {};
  return { externalId: actor_id, ...known };
}

/** Undefined if the agent has not registered the tool. */
function registeredTags({ agent_tools, tool_name }: StoredDecisionRow): readonly string[] | undefined {
  for (const tool of agent_tools ?? []) {
    if (typeof tool !== 'object' || tool === null || !('name' in tool) || tool.name !== tool_name) continue;
    const tags: unknown = 'tags' in tool ? tool.tags : [];
    return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
  }
  return undefined;
}

/** Rows are read by their own time and evaluated by their arrival; this bounds what has to be held in between. */
const REORDERING_MS = 5 * MINUTE_MS;
const MAX_HELD_EVENTS = 500_000;

/**
 * Puts stored events, read in the order of their own time, into the order of their arrival, and joins those that arrived
 * together to batches.
 */
export class ArrivalOrder {
  readonly #tenantId: string;
  #held: StoredEventRow[] = [];
  #emittedUpTo = '';
  /** Events that arrived before an event that was already evaluated: their clock was fast by more than five minutes. */
  misplaced = 0;

  constructor(tenantId: string) {
    this.#tenantId = tenantId;
  }

  /** Takes a page of rows in the order of `occurred_at`, and returns the batches that are complete. */
  take(rows: readonly StoredEventRow[]): EventBatch[] {
    for (const row of rows) this.#held.push(row);
    const head = rows.at(-1)?.occurred_at;
    if (head === undefined) return [];
    const upTo = new Date(Date.parse(head) - REORDERING_MS).toISOString();
    if (this.#held.length > MAX_HELD_EVENTS) return this.#release(() => true);
    return this.#release(({ received_at }) => received_at <= upTo);
  }

  /** Returns what is left, at the end of the history. */
  rest(): EventBatch[] {
    return this.#release(() => true);
  }

  #release(isReady: (row: StoredEventRow) => boolean): EventBatch[] {
    const ready: StoredEventRow[] = [];
    const held: StoredEventRow[] = [];
    for (const row of this.#held) (isReady(row) ? ready : held).push(row);
    this.#held = held;
    ready.sort((a, b) => compare(a.received_at, b.received_at));
    const batches: EventBatch[] = [];
    for (const row of ready) {
      if (row.received_at < this.#emittedUpTo) this.misplaced += 1;
      else this.#emittedUpTo = row.received_at;
      const open = batches.at(-1);
      if (open?.receivedAt === row.received_at) open.events.push(eventOfRow(row));
      else batches.push(this.#batch(row));
    }
    return batches;
  }

  #batch(row: StoredEventRow): EventBatch {
    const { tenant, id } = { tenant: this.#tenantId, id: `replay#${row.received_at}#${row.event_id}` };
    return { id, tenantId: tenant, partition: '00', receivedAt: row.received_at, events: [eventOfRow(row)] };
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
