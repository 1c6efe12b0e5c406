/** Where the platform may send requests on behalf of tenants. */
export interface EgressPolicy {
  /** Networks in CIDR form that are allowed though they are not public unicast (`AGENTLENS_EGRESS_ALLOW`). */
  readonly allow: readonly string[];
}

/** Why an address is refused, said so that its owner can mend it; null if it may be used (names still get checked when connecting). */
export type AddressCheck = (url: string, policy: EgressPolicy) => string | null;

export interface EgressRequest {
  readonly method: 'POST' | 'PUT' | 'GET';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whole exchange, including connecting and reading the answer. Default 10,000 ms. */
  readonly timeoutMs?: number;
}

/**
 * What came of a request. `refused`: the guard did not let it out. `unreachable`: no complete answer (DNS, connect,
 * TLS, timeout, reset). Redirects are answers, never followed. The body is cut at 64 KB.
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
