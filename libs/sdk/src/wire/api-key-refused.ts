/** The platform rejected the API key as invalid or not permitted. This is a configuration error, never an outage. */
export class ApiKeyRefused extends Error {
  override readonly name = 'ApiKeyRefused';
  /** 401: mistyped, revoked or expired. 403: it lacks the scope `decide`, or is bound to other agents. */
  readonly status: number;

  constructor(status: number) {
    const why =
      status === 403
        ? 'it needs the scope "decide", and has to be bound to this agent if it is bound to any'
        : 'it is mistyped, revoked or expired';
    super(`AgentLens: the key was refused (${status}): ${why}`);
    this.status = status;
  }
}
