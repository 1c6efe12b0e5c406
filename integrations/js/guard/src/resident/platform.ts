import { isRecord, type JsonRecord, recordOf, text } from '../hosts/host.ts';

/** What the platform decided about a call. */
export interface PlatformDecision {
  readonly allow: boolean;
  /** The whole session ends, not only the call. */
  readonly terminate: boolean;
  readonly cause: 'ALLOW' | 'RULE_VIOLATION' | 'HITL_PENDING' | 'LOCKDOWN';
  readonly message: string;
  readonly approvalId?: string;
  readonly modifiedArgs?: JsonRecord;
}

/** What proves that this process, and not another one with its key, took an order. */
export interface AcknowledgementSignature {
  readonly connection: string;
  readonly version: number;
  readonly mac: string;
}

/** No decision: the fail mode applies. */
export class NoDecision extends Error {
  override readonly name = 'NoDecision';
  /** Whether the platform answered, and rejected the request or the key. */
  readonly rejected: boolean;

  constructor(message: string, rejected: boolean) {
    super(message);
    this.rejected = rejected;
  }
}

export interface PlatformAddress {
  readonly url: string;
  readonly key: string;
}

export interface RunStart {
  readonly runId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly actor: { readonly externalId: string };
  readonly tags: Readonly<Record<string, string>>;
  readonly model?: string;
  readonly parentRunId?: string;
  readonly parentToolUseId?: string;
}

const REQUEST_MS = 5_000;
const DEADLINE_MS = 3_000;
const USER_AGENT = 'agentlens-guard';

/** Client of the agent protocol. */
export class PlatformClient {
  readonly #address: () => PlatformAddress;

  constructor(address: () => PlatformAddress) {
    this.#address = address;
  }

  async start({ runId, model, ...body }: RunStart): Promise<void> {
    const named = model === undefined ? body : { ...body, model: { name: model } };
    await this.#post(`/v1/runs/${encodeURIComponent(runId)}/start`, named);
  }

  async end(runId: string, agentId: string, status: 'success' | 'interrupted' | 'error'): Promise<void> {
    await this.#post(`/v1/runs/${encodeURIComponent(runId)}/end`, { agentId, status });
  }

  async evaluate(runId: string, question: JsonRecord): Promise<PlatformDecision> {
    const body = { ...question, deadlineMs: DEADLINE_MS };
    return decisionOf(await this.#post(`/v1/runs/${encodeURIComponent(runId)}/evaluate`, body));
  }

  async sendEvents(agentId: string, events: readonly JsonRecord[]): Promise<void> {
    await this.#post('/v1/runs/events', { agentId, events });
  }

  async acknowledge(
    id: string,
    agentId: string,
    instanceId: string,
    signature: AcknowledgementSignature | undefined,
  ): Promise<void> {
    await this.#post(`/v1/control/${encodeURIComponent(id)}/ack`, { agentId, instanceId, signature });
  }

  /** Opens the stream of orders. The caller aborts it. */
  async orders(agentId: string, instanceId: string, lastId: string, signal: AbortSignal): Promise<Response> {
    const query = new URLSearchParams({ agentId, instanceId });
    const { url, key } = this.#address();
    const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream', 'user-agent': USER_AGENT };
    return fetch(`${url}/v1/control/stream?${query.toString()}`, {
      headers: lastId === '' ? headers : { ...headers, 'last-event-id': lastId },
      signal,
    });
  }

  async #post(path: string, body: unknown): Promise<unknown> {
    const { url, key } = this.#address();
    let status = 0;
    let answer = '';
    try {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'user-agent': USER_AGENT },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      status = response.status;
      answer = await response.text();
    } catch (error) {
      throw new NoDecision(`no answer from ${url}: ${reasonOf(error)}`, false);
    }
    if (status >= 200 && status < 300) return parsed(answer);
    const problem = recordOf(parsed(answer));
    const why = text(problem.error) ?? answer.slice(0, 200);
    throw new NoDecision(`${url} answered ${status}: ${why}`, status >= 400 && status < 500 && status !== 429);
  }
}

/** @throws NoDecision for anything but a complete decision */
export function decisionOf(body: unknown): PlatformDecision {
  const answer = recordOf(body);
  const cause = recordOf(answer.cause);
  const { kind } = cause;
  const isComplete =
    (answer.verdict === 'ALLOW' || answer.verdict === 'BLOCK') &&
    (answer.control === 'CONTINUE' || answer.control === 'TERMINATE') &&
    (kind === 'ALLOW' || kind === 'RULE_VIOLATION' || kind === 'HITL_PENDING' || kind === 'LOCKDOWN');
  if (!isComplete) throw new NoDecision('the platform sent no decision that can be read', false);
  return {
    allow: answer.verdict === 'ALLOW',
    terminate: answer.control === 'TERMINATE',
    cause: kind,
    message: text(answer.message) ?? 'refused by a rule',
    approvalId: text(cause.approvalId) ?? text(answer.approvalId),
    modifiedArgs: isRecord(answer.modifiedArgs) ? answer.modifiedArgs : undefined,
  };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `timed out after ${REQUEST_MS} ms`;
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}
