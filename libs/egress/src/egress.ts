/** Where the platform may send requests on behalf of tenants. */
export interface EgressPolicy {
  /** Allowed networks in CIDR form that are not public (`AGENTLENS_EGRESS_ALLOW`). */
  readonly allow: readonly string[];
}

/** Why an address is refused and how to fix it; null if it may be used. Names are checked again when connecting. */
export type AddressCheck = (url: string, policy: EgressPolicy) => string | null;

export interface EgressRequest {
  readonly method: 'POST' | 'PUT' | 'GET';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Timeout of the whole exchange, including connecting and reading the answer. Default 10,000 ms. */
  readonly timeoutMs?: number;
}

/**
 * Result of a request. `refused`: blocked by the guard. `unreachable`: no complete answer (DNS, connect, TLS, timeout,
 * reset). Redirects are returned, never followed. The body is truncated at 64 KB.
 */
export type EgressResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string };

export interface EgressClient {
  send(request: EgressRequest): Promise<EgressResult>;
  close(): Promise<void>;
}
