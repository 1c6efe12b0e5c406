/** The store cannot answer now (away, starting, overloaded); the same call may be made again later. */
export class StateUnavailable extends Error {
  constructor(operation: string, cause: unknown) {
    super(`State store did not answer ${operation}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.name = 'StateUnavailable';
  }
}
