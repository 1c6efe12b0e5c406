import type { Instance, Presence } from '../presence.ts';

/** The instances that listen to this process. */
export class MemoryPresence implements Presence {
  readonly #endsAtMs = new Map<string, Map<string, number>>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  async touch(tenantId: string, agentId: string, instanceId: string, ttlMs: number): Promise<void> {
    const instances = this.#endsAtMs.get(tenantId) ?? new Map<string, number>();
    this.#endsAtMs.set(tenantId, instances);
    const nowMs = this.#now();
    for (const [name, endsAtMs] of instances) if (endsAtMs <= nowMs) instances.delete(name);
    instances.set(JSON.stringify([agentId, instanceId]), nowMs + ttlMs);
  }

  async list(tenantId: string, agentId?: string): Promise<readonly Instance[]> {
    const nowMs = this.#now();
    const present = [...(this.#endsAtMs.get(tenantId) ?? [])].filter(([, endsAtMs]) => endsAtMs > nowMs);
    return present
      .map(([name]) => JSON.parse(name) as [string, string])
      .filter(([agent]) => agentId === undefined || agent === agentId)
      .map(([agent, instanceId]) => ({ agentId: agent, instanceId }));
  }
}
