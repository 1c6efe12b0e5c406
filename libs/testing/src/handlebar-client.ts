import { setTimeout as pause } from 'node:timers/promises';

export interface HandlebarOptions {
  readonly endpoint: string;
  readonly apiKey: string;
  readonly agent: { readonly slug: string; readonly name?: string; readonly tags?: readonly string[] };
  readonly tools?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly tags?: readonly string[];
  }[];
  /** First retry delay, ms; released clients wait 200 and 500. */
  readonly retryBaseMs?: number;
}

export interface HandlebarDecision {
  readonly verdict: 'ALLOW' | 'BLOCK';
  readonly control: 'CONTINUE' | 'TERMINATE';
  readonly cause: { readonly kind: string; readonly ruleId?: string; readonly approvalId?: string };
  readonly message: string;
  readonly evaluatedRules: readonly object[];
}

/** One recorded call, for checking order and retries. */
export interface MadeCall {
  readonly method: string;
  readonly path: string;
  readonly status: number | 'failed';
}

interface RunOptions {
  readonly runId: string;
  readonly sessionId?: string;
  readonly actor?: { readonly externalId: string; readonly metadata?: Readonly<Record<string, string>> };
  readonly model?: { readonly name: string; readonly provider?: string };
  readonly tags?: Readonly<Record<string, string>>;
}

const RETRIES = 3;
const BATCH = 50;
const FAIL_OPEN: HandlebarDecision = {
  verdict: 'ALLOW',
  control: 'CONTINUE',
  cause: { kind: 'ALLOW' },
  message: 'API unavailable; failing open',
  evaluatedRules: [],
};

/**
 * An agent that uses only the six calls of the Handlebar protocol, as measured with SDK 0.3.0: no event ids, no batch
 * ids, no deadline; it ends the run before it sends the events, and sends the batches of one flush concurrently.
 */
export class HandlebarClient {
  readonly calls: MadeCall[] = [];
  readonly #options: HandlebarOptions;
  readonly #queue: object[] = [];
  #agentId: string | null = null;

  constructor(options: HandlebarOptions) {
    this.#options = options;
  }

  get agentId(): string | null {
    return this.#agentId;
  }

  async init(): Promise<void> {
    const { agent, tools } = this.#options;
    const answer = await this.#call('POST', '/v1/agents', { ...agent, ...(tools && { tools }) });
    this.#agentId = answer?.ok === true ? ((await answer.json()) as { agentId: string }).agentId : null;
  }

  async registerTools(tools: readonly { readonly name: string; readonly tags?: readonly string[] }[]): Promise<void> {
    const wire = tools.map(({ name, tags }) => ({
      key: `function:${name.toLowerCase()}`,
      name,
      version: 1,
      kind: 'function',
      ...(tags && { metadata: { metadata: tags } }),
    }));
    await this.#call('PUT', `/v1/agents/${this.#agentId}/tools`, { tools: wire });
  }

  async startRun(options: RunOptions): Promise<HandlebarRun> {
    const { runId, sessionId, actor, model } = options;
    const body = { agentId: this.#agentId ?? '', sessionId, actor, model };
    const answer = await this.#call('POST', `/v1/runs/${runId}/start`, body);
    const lockdown = answer?.ok === true ? ((await answer.json()) as { lockdown: { active: boolean } }).lockdown : null;
    return new HandlebarRun(options, lockdown?.active ?? false, this);
  }

  /** Three retries on network errors and 5xx, none on 4xx; an invalid decision becomes the default one. */
  async evaluate(runId: string, question: object): Promise<HandlebarDecision> {
    const answer = await this.#retried(`/v1/runs/${runId}/evaluate`, { agentId: this.#agentId ?? '', ...question });
    if (answer?.ok !== true) return FAIL_OPEN;
    const decision = (await answer.json()) as Partial<HandlebarDecision>;
    const isWhole =
      typeof decision.verdict === 'string' &&
      typeof decision.control === 'string' &&
      typeof decision.cause?.kind === 'string' &&
      typeof decision.message === 'string' &&
      Array.isArray(decision.evaluatedRules);
    return isWhole ? (decision as HandlebarDecision) : FAIL_OPEN;
  }

  async endRun(runId: string, status: string): Promise<void> {
    if (this.#agentId === null) return;
    await this.#retried(`/v1/runs/${runId}/end`, { agentId: this.#agentId, status });
  }

  emit(event: object): void {
    if (this.#agentId !== null) this.#queue.push(event);
  }

  /** Sends the queue in concurrent batches of fifty; a retry sends the same bytes. */
  async flush(): Promise<void> {
    const batches: object[][] = [];
    while (this.#queue.length > 0) batches.push(this.#queue.splice(0, BATCH));
    await Promise.all(batches.map((events) => this.#retried('/v1/runs/events', { agentId: this.#agentId, events })));
  }

  async #retried(path: string, body: object): Promise<Response | undefined> {
    const baseMs = this.#options.retryBaseMs ?? 200;
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#call('POST', path, body);
      if (answer !== undefined && answer.status < 500) return answer;
      if (attempt >= RETRIES) return answer;
      await pause(baseMs * 2 ** attempt);
    }
  }

  async #call(method: string, path: string, body: object): Promise<Response | undefined> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${this.#options.apiKey}` };
    try {
      const answer = await fetch(this.#options.endpoint + path, { method, headers, body: JSON.stringify(body) });
      this.calls.push({ method, path, status: answer.status });
      return answer;
    } catch {
      this.calls.push({ method, path, status: 'failed' });
      return undefined;
    }
  }
}

/** A run of that client: two questions per tool call, and audit events. */
export class HandlebarRun {
  readonly runId: string;
  readonly isLockedDown: boolean;
  readonly #options: RunOptions;
  readonly #client: HandlebarClient;
  #step = 0;
  #tokens = { in: 0, out: 0 };

  constructor(options: RunOptions, isLockedDown: boolean, client: HandlebarClient) {
    this.runId = options.runId;
    this.isLockedDown = isLockedDown;
    this.#options = options;
    this.#client = client;
    const { externalId, metadata } = options.actor ?? {};
    const data = {
      agent: { id: client.agentId ?? undefined },
      actor: externalId === undefined ? undefined : { externalId, metadata },
      adapter: { name: 'core' },
    };
    this.#emit('run.started', data, false);
  }

  async beforeTool(name: string, args: unknown, tags?: readonly string[]): Promise<HandlebarDecision> {
    const metrics = {
      bytes_in: bytesOf(args),
      ...(this.#tokens.in + this.#tokens.out > 0 && {
        llm_tokens_in: this.#tokens.in,
        llm_tokens_out: this.#tokens.out,
      }),
    };
    this.#tokens = { in: 0, out: 0 };
    const decision = await this.#client.evaluate(this.runId, {
      ...this.#question('tool.before', name, args, tags),
      metrics,
    });
    this.#emit('tool.decision', { ...decision, tool: { name, categories: tags } });
    return decision;
  }

  async afterTool(name: string, args: unknown, result: unknown, durationMs: number, error?: Error): Promise<void> {
    const metrics = { bytes_in: bytesOf(args), bytes_out: bytesOf(result), duration_ms: durationMs };
    await this.#client.evaluate(this.runId, { ...this.#question('tool.after', name, args), result, metrics });
    const failure = error && { error: { name: error.name, message: error.message } };
    this.#emit('tool.result', { tool: { name }, outcome: error ? 'error' : 'success', durationMs, ...failure });
    this.#step += 1;
  }

  beforeLlm(messages: readonly { readonly role: string; readonly content: string }[]): void {
    for (const { role, content } of messages) {
      const data = { messageId: crypto.randomUUID(), role, kind: 'input', content, contentTruncated: false };
      this.#emit('message.raw.created', data);
    }
  }

  afterLlm(model: { readonly name: string; readonly provider?: string }, tokens: { in: number; out: number }): void {
    this.#tokens = { in: this.#tokens.in + tokens.in, out: this.#tokens.out + tokens.out };
    this.#emit('llm.result', { model, tokens, messageCount: 1, durationMs: 12 });
  }

  /** Ends the run on the server, then sends its events. */
  async end(status: 'success' | 'error' | 'timeout' | 'interrupted' = 'success'): Promise<void> {
    await this.#client.endRun(this.runId, status);
    this.#emit('run.ended', { status, totalSteps: this.#step }, false);
    await this.#client.flush();
  }

  #question(phase: string, name: string, args: unknown, tags?: readonly string[]): object {
    const { actor, tags: runTags = {} } = this.#options;
    return { phase, tool: { name, tags }, args, actor: actor && { externalId: actor.externalId }, tags: runTags };
  }

  #emit(kind: string, data: object, hasStep = true): void {
    const { sessionId, actor } = this.#options;
    this.#client.emit({
      schema: 'handlebar.audit.v1',
      ts: new Date().toISOString(),
      runId: this.runId,
      sessionId,
      actorExternalId: actor?.externalId,
      ...(hasStep && { stepIndex: this.#step }),
      kind,
      data,
    });
  }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}
