import type { OpenedAnswer } from '@agentlens/egress';
import { pickRequestHeaders } from '@agentlens/model-api';
import { type Connection, isTrial } from '../connections/connections.ts';
import type { GatewayCall } from '../gateway-call.ts';
import type { Provider } from '../providers/model-provider-client.ts';
import type { AdmittedCall } from './admission.ts';
import type { CallEstimate } from './estimate.ts';

/** A model may be silent this long between two pieces of its answer. */
const BETWEEN_CHUNKS_MS = 5 * 60_000;

/** An exchange that gave no answer, and why. Nothing of it reached the client. */
export interface FailedAttempt {
  readonly connection: string;
  readonly provider: string;
  readonly problem: string;
  readonly tookMs: number;
}

/** The exchange whose answer the client gets. */
export interface OpenedCall {
  /** With the connection that answers. */
  readonly call: GatewayCall;
  /** `ended`: the answer ended from here before it began. */
  readonly opened: OpenedAnswer | { readonly kind: 'ended'; readonly reason: unknown };
  readonly estimate: CallEstimate;
  /** Why the first connection gave way to its fallback. */
  readonly failed: FailedAttempt | undefined;
}

interface ProviderAttemptsDependencies {
  readonly provider: Provider;
  readonly trial: Provider;
  readonly now: () => number;
  /** Headers with the key of the provider. */
  readonly authorize: (tenantId: string, connection: Connection) => Readonly<Record<string, string>>;
}

/**
 * Sends a call to its provider. If that gives no answer, the call goes to the fallback of its connection. Clients repeat
 * calls themselves, so that there is no third attempt.
 */
export class ProviderAttempts {
  readonly #parts: ProviderAttemptsDependencies;

  constructor(parts: ProviderAttemptsDependencies) {
    this.#parts = parts;
  }

  /**
   * Never rejects because the answer ended: that is a result.
   *
   * @param signal aborted when the answer ends from here
   */
  async open(
    first: GatewayCall,
    { estimate, reprice }: Pick<AdmittedCall, 'estimate' | 'reprice'>,
    signal: AbortSignal,
  ): Promise<OpenedCall> {
    const sentAtMs = this.#parts.now();
    const opened = await this.#send(first, signal);
    const alone = { call: first, opened, estimate, failed: undefined };
    const { fallback, connection } = first;
    const problem = findProblem(opened);
    if (fallback === undefined || problem === undefined) return alone;
    const { name, provider } = connection;
    const failed = { connection: name, provider, problem, tookMs: Math.max(0, this.#parts.now() - sentAtMs) };
    // The answer of the first provider stays open until there is room for the price of the second one.
    const repriced = await reprice(fallback, signal);
    if (repriced === undefined && !signal.aborted) return alone;
    discard(opened);
    if (repriced === undefined || signal.aborted) return { ...alone, opened: { kind: 'ended', reason: signal.reason } };
    const call = { ...first, connection: fallback };
    return { call, opened: await this.#send(call, signal), estimate: repriced, failed };
  }

  async #send(call: GatewayCall, signal: AbortSignal): Promise<OpenedCall['opened']> {
    const { connection, tenantId, path, query, body } = call;
    const { provider, trial, authorize } = this.#parts;
    const sender = isTrial(connection) ? trial : provider;
    try {
      return await sender.open({
        method: 'POST',
        url: `${connection.baseUrl}${path}${query}`,
        headers: {
          ...pickRequestHeaders(call.headers, connection.forwardHeaders),
          'content-type': 'application/json',
          'accept-encoding': 'identity',
          ...authorize(tenantId, connection),
        },
        body,
        timeouts: { firstByteMs: connection.firstByteMs, betweenChunksMs: BETWEEN_CHUNKS_MS },
        signal,
      });
    } catch (error) {
      if (!signal.aborted) throw error;
      return { kind: 'ended', reason: signal.reason };
    }
  }
}

/**
 * Why the provider gave no answer. Undefined for an answer, for an end from here, and for what an admin has to correct:
 * a rejected request, a rejected key, an address that may not be called.
 */
function findProblem(opened: OpenedCall['opened']): string | undefined {
  if (opened.kind === 'unreachable' || opened.kind === 'late') return opened.reason;
  if (opened.kind !== 'answered') return undefined;
  const { status } = opened;
  return status === 429 || status >= 500 ? `status ${status}` : undefined;
}

function discard(opened: OpenedCall['opened']): void {
  if (opened.kind === 'answered') opened.body.destroy();
}
