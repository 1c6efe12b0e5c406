import { type AgentError, errorInfo, isAgentError } from '../core/agent-error.ts';
import type { AgentEvent } from '../core/agent-event.ts';
import { type Json, toJson } from '../core/json.ts';
import { redactStored } from '../core/redact.ts';
import { addTokens, asChildTokens, NO_TOKENS, type TokenUsage } from '../core/token-usage.ts';
import type { Effects } from '../effects/effects.ts';
import type { ModelUse } from '../llm/guarded-model.ts';
import type { DatabaseClient } from '../memory/database-client.ts';
import type { MemoryChange } from '../memory/filtered-memory.ts';
import type { ActionResult } from '../tools/tool.ts';
import type { AgentResult, ModelCall, Provenance } from './agent-result.ts';

const COLLECTION = 'agent-events';
const PER_DOCUMENT = 200;

/** Location of a result's events: documents with this key prefix in the collection `agent-events`, in key order. */
function eventsPointer(runId: string): string {
  return `${COLLECTION}/${runId}/`;
}

/** Stores the events of a run, without secrets and text deltas. */
export async function storeEvents(
  database: DatabaseClient,
  runId: string,
  events: readonly AgentEvent[],
): Promise<void> {
  const kept = events.filter(({ type }) => type !== 'text-delta' && type !== 'thinking-delta');
  for (let from = 0; from < kept.length; from += PER_DOCUMENT) {
    const page = String(from / PER_DOCUMENT + 1).padStart(6, '0');
    const value: Json = {
      schema_version: 1,
      events: toJson(redactStored(kept.slice(from, from + PER_DOCUMENT)), Number.POSITIVE_INFINITY),
    };
    await database.write(COLLECTION, `${runId}/${page}`, value);
  }
}

const MAX_WARNINGS = 100;
const MAX_EVENTS = 10_000;

export interface RecordStart {
  readonly agentId: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly effects: Effects;
  readonly events: 'none' | 'inline' | 'stored';
}

/** Collects the data of a run's result. It only reads events. */
export class RunRecord {
  readonly #start: RecordStart;
  readonly #startedMs: number;
  readonly #events: AgentEvent[] = [];
  readonly #warnings: string[] = [];
  readonly #actions: ActionResult[] = [];
  readonly #modelCalls: ModelCall[] = [];
  readonly #changes: MemoryChange[] = [];
  readonly #latency: Record<string, number> = {};
  #usage: TokenUsage = NO_TOKENS;
  #childUsage: TokenUsage = NO_TOKENS;
  #retries = 0;
  #lastRetry = '';
  template: Provenance['template'];
  steps = 0;

  constructor(start: RecordStart) {
    this.#start = start;
    this.#startedMs = start.effects.now();
  }

  get events(): readonly AgentEvent[] {
    return this.#events;
  }

  readonly onEvent = (event: AgentEvent): void => {
    if (event.type === 'warning' && this.#warnings.length < MAX_WARNINGS) this.#warnings.push(event.message);
    if (event.type === 'retry') {
      this.#retries += 1;
      this.#lastRetry = event.error.message;
    }
    if (event.type === 'subagent-complete') this.#childUsage = addTokens(this.#childUsage, asChildTokens(event.usage));
    // Progress is transient: a replay runs no tool that could report any.
    if (this.#start.events !== 'none' && event.type !== 'tool-progress' && this.#events.length < MAX_EVENTS)
      this.#events.push(event);
  };

  addActions(actions: readonly ActionResult[]): void {
    this.#actions.push(...actions);
    for (const { toolId, durationMs } of actions) this.#latency[toolId] = (this.#latency[toolId] ?? 0) + durationMs;
  }

  readonly addModelUse = ({ callId, provider, durationMs, response }: ModelUse): void => {
    this.#usage = addTokens(this.#usage, response.usage);
    const { model, usage, costUsd } = response;
    this.#modelCalls.push({
      ...{ callId, model, usage, durationMs },
      ...(provider === undefined ? {} : { provider }),
      ...(costUsd === undefined ? {} : { costUsd }),
      ...(this.template === undefined ? {} : { promptId: `${this.template.id}@${this.template.version}` }),
    });
  };

  readonly addChange = (change: MemoryChange): void => {
    this.#changes.push(change);
  };

  finish(outcome: { readonly result?: unknown } | { readonly error: unknown }): AgentResult {
    const { agentId, sessionId, runId, effects, events } = this.#start;
    const finishedMs = effects.now();
    const durationMs = finishedMs - this.#startedMs;
    const known = this.#modelCalls.every(({ costUsd }) => costUsd !== undefined);
    const models = [...new Set(this.#modelCalls.map(({ model }) => model))];
    return {
      ...{ id: runId, sessionId, runId, steps: this.steps, actions: this.#actions, modelCalls: this.#modelCalls },
      ...outcomeOf(outcome),
      startedAt: new Date(this.#startedMs).toISOString(),
      finishedAt: new Date(finishedMs).toISOString(),
      tokenUsage: addTokens(this.#usage, this.#childUsage),
      ...(known ? { costEstimate: this.#modelCalls.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0) } : {}),
      ...(events === 'none' ? {} : { eventStream: events === 'inline' ? this.#events : eventsPointer(runId) }),
      memoryDeltas: this.#changes,
      provenance: { agentId, models, ...(this.template === undefined ? {} : { template: this.template }) },
      diagnostics: { warnings: this.#warnings },
      ...(this.#retries === 0 ? {} : { retryInfo: { attempts: this.#retries + 1, lastError: this.#lastRetry } }),
      ...(effects.seed === undefined ? {} : { seed: effects.seed }),
      deterministic: effects.seed !== undefined,
      metrics: { durationMs, toolLatencyMs: this.#latency },
    };
  }
}

function outcomeOf(outcome: { readonly result?: unknown } | { readonly error: unknown }) {
  if (!('error' in outcome))
    return { success: true, ...(outcome.result === undefined ? {} : { result: outcome.result }) };
  const { error } = outcome;
  const { message, code, info } = errorInfo(error);
  const aborted = isAgentError(error) && isAbort(error);
  return {
    success: false,
    error: { message, code, ...(info === undefined ? {} : { info }) },
    ...(aborted ? { aborted } : {}),
  };
}

function isAbort({ code }: AgentError): boolean {
  return code === 'aborted' || code === 'interrupted';
}
