import type { IncomingHttpHeaders } from 'node:http';
import type { MeteredAnswer, ModelApi, ModelRefusal, ModelRequest, ToolResult } from '@agentlens/model-api';
import type { Caller } from '@agentlens/platform';
import type { Connection } from './connections/connections.ts';

/** A call that was read and placed: what is decided, sent and recorded. */
export interface GatewayCall {
  readonly id: string;
  readonly caller: Caller;
  readonly key: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly runId: string;
  readonly sessionId: string | undefined;
  /** The connection that is asked, and after that the one that answers. */
  readonly connection: Connection;
  /** Gets the call if the provider of `connection` gives no answer. */
  readonly fallback: Connection | undefined;
  readonly api: ModelApi;
  /** Path at the provider. */
  readonly path: string;
  /** Query for the provider, with its `?`. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** What the client asks for. */
  readonly request: ModelRequest;
  /** What tools returned since the last answer. */
  readonly results: readonly ToolResult[];
  /** The model that is sent: another one if an order of the agent says so. */
  readonly model: string;
  readonly body: Uint8Array;
  /** The gateway asked for the usage of the stream, so its chunk is taken out again. */
  readonly addedUsage: boolean;
  readonly startedAtMs: number;
}

/** The one way in which a call that was sent ended. */
export type CallOutcome =
  | { readonly kind: 'completed'; readonly status: number; readonly answer: MeteredAnswer }
  /** An order or a limit ended the answer. */
  | { readonly kind: 'stopped'; readonly refusal: ModelRefusal; readonly answer: MeteredAnswer }
  | { readonly kind: 'client_gone'; readonly answer: MeteredAnswer }
  /** The provider's connection broke, or paused too long, inside the answer. */
  | { readonly kind: 'upstream_cut'; readonly answer: MeteredAnswer }
  /** The provider answered with an error, which costs nothing. */
  | { readonly kind: 'provider_error'; readonly status: number }
  /** Nothing was answered. */
  | { readonly kind: 'failed'; readonly refusal: ModelRefusal };

/** What an outcome without an answer used: nothing. */
export function findAnswer(outcome: CallOutcome): MeteredAnswer | undefined {
  return 'answer' in outcome ? outcome.answer : undefined;
}
