/** What a run's start said that every later question about its calls has to know. */
export interface RunContext {
  readonly agentId?: string | undefined;
  /** The run whose work this one is a part of. */
  readonly parentRunId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly actor?:
    | {
        readonly externalId: string;
        readonly name?: string | undefined;
        readonly metadata?: Record<string, string> | undefined;
      }
    | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** Questions name a run and little more; the start may have been told to another gateway. */
export interface RunContexts {
  /** The first telling stays: a start is repeated, not changed. */
  keep(tenantId: string, runId: string, context: RunContext): Promise<void>;
  find(tenantId: string, runId: string): Promise<RunContext | undefined>;
}
