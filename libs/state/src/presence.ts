/** One connected SDK: a process that listens for directives and orders. */
export interface Instance {
  readonly agentId: string;
  readonly instanceId: string;
}

/**
 * Which SDK instances listen now, over all gateways: what "3 of 4 acknowledged" counts against. An instance that is not
 * touched again in time is gone; nobody has to say goodbye.
 */
export interface Presence {
  touch(tenantId: string, agentId: string, instanceId: string, ttlMs: number): Promise<void>;
  /** Of one agent, or of the whole tenant; in no order that means anything. */
  list(tenantId: string, agentId?: string): Promise<readonly Instance[]>;
}
