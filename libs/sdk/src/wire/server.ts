import {
  type Http,
  type HttpAnswer,
  type HttpStream,
  MAX_ANSWER_CHARS,
  type RuntimeClock,
} from '../runtime/runtime.ts';
import type { DecisionPhase } from './contract.ts';
import { type Bypass, isRecord, parseJson, readDecision, type WireDecision } from './decision.ts';
import { DeadlineExceeded, within } from './failures.ts';
import type { Actor, AgentIdentity, Lockdown, ModelInfo, RunStatus, Subject, ToolInfo } from './model.ts';
import { safeJson } from './safe-json.ts';
import type { AcknowledgementSignature } from './sign-acknowledgement.ts';

export interface StartRequest {
  readonly agentId: string;
  readonly sessionId?: string;
  readonly actor?: Actor;
  readonly model?: ModelInfo;
  readonly tags?: Readonly<Record<string, string>>;
  readonly parentRunId?: string;
  readonly parentToolUseId?: string;
  readonly runTtlMs?: number;
  readonly heartbeatEveryMs?: number;
}

export interface EvaluateRequest {
  readonly phase: DecisionPhase;
  readonly agentId: string;
  readonly callId: string;
  readonly tool?: { readonly name: string; readonly tags?: readonly string[] };
  readonly args?: unknown;
  readonly result?: unknown;
  readonly actor?: Actor;
  readonly tags: Readonly<Record<string, string>>;
  readonly subjects?: readonly Subject[];
  readonly metrics?: Readonly<Record<string, number>>;
  readonly estimate?: { readonly tokens: number; readonly costUsd: number };
  /** Content sent incompletely: rules must not treat data missing there as absent. */
  readonly unread?: readonly ('args' | 'result')[];
  readonly deadlineMs: number;
}

/** Expected outcomes, including an unavailable server, are values. */
export type Asked<T> = { readonly ok: true; readonly value: T } | NotAnswered;

export interface NotAnswered {
  readonly ok: false;
  readonly why: Bypass;
  /** Status of a rejection. */
  readonly status?: number;
  /** The server does not know the question: it uses an older protocol. */
  readonly isUnknown?: boolean;
}

/** The server's answer about an agent's rules. */
export type BundleAnswer =
  | { readonly kind: 'none' }
  /** The rules in use are still current. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'signed'; readonly signed: unknown; readonly tag: string | undefined };

/** A retry needs at least this much of the deadline. */
const MIN_LEFT_MS = 20;
const PATH = /\/+$/;
const KEY_REFUSED = new Set([401, 403]);
const UNKNOWN = new Set([404, 405]);

/**
 * Calls of the agent protocol. Each stays within the deadline and never throws. A failed connection or a 5xx is retried
 * once if there is time; a 4xx is final.
 */
export class Server {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #http: Http;
  readonly #clock: RuntimeClock;
  readonly #deadlineMs: number;

  constructor(options: { baseUrl: string; apiKey: string; http: Http; clock: RuntimeClock; deadlineMs: number }) {
    this.#base = options.baseUrl.replace(PATH, '');
    this.#headers = { authorization: `Bearer ${options.apiKey}`, 'content-type': 'application/json' };
    this.#http = options.http;
    this.#clock = options.clock;
    this.#deadlineMs = options.deadlineMs;
  }

  registerAgent(agent: AgentIdentity, tools: readonly ToolInfo[]): Promise<Asked<string>> {
    const body = { ...agent, ...(tools.length === 0 ? {} : { tools }) };
    return this.#ask('POST', '/v1/agents', body, (answer) =>
      isRecord(answer) && typeof answer.agentId === 'string' && answer.agentId !== '' ? answer.agentId : null,
    );
  }

  registerTools(agentId: string, tools: readonly ToolInfo[]): Promise<Asked<true>> {
    const body = { tools: tools.map(wireTool) };
    return this.#ask('PUT', `/v1/agents/${encodeURIComponent(agentId)}/tools`, body, () => true);
  }

  startRun(runId: string, start: StartRequest): Promise<Asked<Lockdown>> {
    return this.#ask('POST', `${runPath(runId)}/start`, start, readLockdown);
  }

  evaluate(runId: string, request: Omit<EvaluateRequest, 'deadlineMs'>): Promise<Asked<WireDecision>> {
    const question = { ...request, deadlineMs: this.#deadlineMs };
    return this.#ask('POST', `${runPath(runId)}/evaluate`, question, readDecision);
  }

  endRun(runId: string, agentId: string, status: RunStatus): Promise<Asked<true>> {
    return this.#ask('POST', `${runPath(runId)}/end`, { agentId, status }, () => true);
  }

  /** Sends a heartbeat; returns the run's lockdown. */
  heartbeat(runId: string, agentId: string, instanceId: string, everyMs: number): Promise<Asked<Lockdown>> {
    return this.#ask('POST', `${runPath(runId)}/heartbeat`, { agentId, instanceId, everyMs }, readLockdown);
  }

  acknowledge(
    directiveId: string,
    agentId: string,
    instanceId: string,
    signature: AcknowledgementSignature | undefined,
  ): Promise<Asked<true>> {
    const path = `/v1/control/${encodeURIComponent(directiveId)}/ack`;
    return this.#ask('POST', path, { agentId, instanceId, signature }, () => true);
  }

  /** @param heldTag the server's tag of the current bundle */
  async ruleBundle(agentId: string, heldTag: string | undefined): Promise<Asked<BundleAnswer>> {
    const path = `/v1/rules/bundle?agentId=${encodeURIComponent(agentId)}`;
    const held: Readonly<Record<string, string>> = heldTag === undefined ? {} : { 'if-none-match': heldTag };
    const asked = await this.#answered('GET', path, undefined, held);
    if (!asked.ok) return asked;
    const { value: answer } = asked;
    if (answer.status === 404) return { ok: true, value: { kind: 'none' } };
    if (answer.status === 304) return { ok: true, value: { kind: 'unchanged' } };
    if (!succeeded(answer)) return refusal(answer);
    return { ok: true, value: { kind: 'signed', signed: parseJson(answer.text), tag: answer.header('etag') } };
  }

  /** One attempt to send a batch; the sink decides about retries. */
  sendEvents(body: string, batchId: string, timeoutMs: number): Promise<HttpAnswer> {
    return within(this.#clock, timeoutMs, (signal) =>
      this.#http.call({
        method: 'POST',
        url: `${this.#base}/v1/runs/events`,
        headers: { ...this.#headers, 'idempotency-key': batchId },
        body,
        signal,
      }),
    );
  }

  openControlStream(agentId: string, instanceId: string, lastId: string, signal: AbortSignal): Promise<HttpStream> {
    return this.#http.stream({
      method: 'GET',
      url: `${this.#base}/v1/control/stream?${controlQuery(agentId, instanceId)}`,
      headers: {
        authorization: this.#headers.authorization ?? '',
        accept: 'text/event-stream',
        ...(lastId === '' ? {} : { 'last-event-id': lastId }),
      },
      signal,
    });
  }

  /** Long-polls for up to `waitMs` for messages newer than `after`. */
  async pollControl(
    agentId: string,
    instanceId: string,
    after: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const position = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
    const answer = await this.#http.stream({
      method: 'GET',
      url: `${this.#base}/v1/control/poll?${controlQuery(agentId, instanceId)}${position}&waitMs=${waitMs}`,
      headers: this.#headers,
      signal,
    });
    let text = '';
    for await (const chunk of answer.chunks) {
      text += chunk;
      if (text.length > MAX_ANSWER_CHARS) break;
    }
    return { status: answer.status, text };
  }

  async #ask<T>(
    method: 'POST' | 'PUT',
    path: string,
    content: unknown,
    read: (answer: unknown) => T | null,
  ): Promise<Asked<T>> {
    const asked = await this.#answered(method, path, safeJson(content));
    if (!asked.ok) return asked;
    if (!succeeded(asked.value)) return refusal(asked.value);
    const value = read(parseJson(asked.value.text));
    return value === null ? { ok: false, why: 'nonsense' } : { ok: true, value };
  }

  async #answered(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body: string | undefined,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Asked<HttpAnswer>> {
    const headers = { ...this.#headers, ...more };
    const call = { method, url: this.#base + path, headers, ...(body === undefined ? {} : { body }) };
    const startedAt = this.#clock.elapsed();
    let answer = await this.#attempt(call, this.#deadlineMs);
    const left = this.#deadlineMs - (this.#clock.elapsed() - startedAt);
    const broke = answer.ok ? answer.value.status >= 500 : answer.why === 'unavailable';
    if (broke && left >= MIN_LEFT_MS) answer = await this.#attempt(call, left);
    return answer;
  }

  async #attempt(
    call: { method: 'GET' | 'POST' | 'PUT'; url: string; headers: Readonly<Record<string, string>>; body?: string },
    ms: number,
  ): Promise<Asked<HttpAnswer>> {
    try {
      return { ok: true, value: await within(this.#clock, ms, (signal) => this.#http.call({ ...call, signal })) };
    } catch (error) {
      return { ok: false, why: error instanceof DeadlineExceeded ? 'deadline' : 'unavailable' };
    }
  }
}

function runPath(runId: string): string {
  return `/v1/runs/${encodeURIComponent(runId)}`;
}

function controlQuery(agentId: string, instanceId: string): string {
  return `agentId=${encodeURIComponent(agentId)}&instanceId=${encodeURIComponent(instanceId)}`;
}

function refusal({ status, text }: HttpAnswer): NotAnswered {
  if (status >= 500) return { ok: false, why: 'unavailable' };
  if (KEY_REFUSED.has(status)) return { ok: false, why: 'key_refused', status };
  return { ok: false, why: 'refused', status, isUnknown: UNKNOWN.has(status) || (status === 400 && namesPhase(text)) };
}

/** Whether a rejection is about the phase: `details` names the invalid members of the question. */
function namesPhase(text: string): boolean {
  const body = parseJson(text);
  if (!isRecord(body) || !Array.isArray(body.details)) return false;
  return body.details.some((detail) => isRecord(detail) && detail.path === 'phase');
}

function succeeded(answer: HttpAnswer): boolean {
  return answer.status >= 200 && answer.status < 300;
}

/** The protocol's form of a tool in an update, where its name is a key. */
function wireTool(tool: ToolInfo): object {
  return {
    key: `function:${tool.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`,
    name: tool.name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
    version: 1,
    kind: 'function',
    ...(tool.tags === undefined ? {} : { metadata: { metadata: tool.tags } }),
  };
}

function ancestorsOf(lineage: unknown): Pick<Lockdown, 'ancestors'> {
  if (!isRecord(lineage) || !Array.isArray(lineage.ancestors)) return {};
  return { ancestors: lineage.ancestors.filter((id) => typeof id === 'string') };
}

function readLockdown(answer: unknown): Lockdown | null {
  if (!isRecord(answer) || !isRecord(answer.lockdown) || typeof answer.lockdown.active !== 'boolean') return null;
  const { active, reason, until_ts: until, kind, lockdownId } = answer.lockdown;
  return {
    active,
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof until === 'number' ? { until } : {}),
    ...(kind === 'paused' || kind === 'killed' ? { kind } : {}),
    ...(typeof lockdownId === 'string' ? { lockdownId } : {}),
    ...ancestorsOf(answer.lineage),
    ...(typeof answer.modelOverride === 'string' ? { modelOverride: answer.modelOverride } : {}),
  };
}
