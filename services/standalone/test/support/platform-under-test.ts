import type { EventBus } from '@agentlens/messaging';
import type { Caller } from '@agentlens/platform';

export type Scope = Caller['scopes'][number];

/** A running platform as its users see it: addresses and keys. Only the mode knows how it runs. */
export interface PlatformUnderTest {
  /** The address for a request. The two edges share one address in one process, and have their own otherwise. */
  addressFor(method: string, path: string): string;
  /** Every address that checks keys. */
  readonly edges: readonly string[];
  readonly adminKey: string;
  /** Returns a key of any tenant, and creates the tenant if needed. */
  keyOf(tenantId: string, ...scopes: Scope[]): Promise<{ id: string; key: string }>;
  /** The number of active rules per evaluator. A new rule reaches all of them within a second, not at once. */
  ruleCounts(): Promise<readonly number[]>;
  /** The same of budgets. */
  budgetCounts(): Promise<readonly number[]>;
  /** A bus for subscribers, which receive new messages only. */
  readonly bus: EventBus;
  /** Stops everything and starts it again on the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}
