import type { EventBus } from '@agentlens/messaging';
import type { Caller } from '@agentlens/platform';

export type Scope = Caller['scopes'][number];

/** A running platform as its users have it: an address and keys. How it runs is the only thing a mode may know. */
export interface PlatformUnderTest {
  /** Where this request goes: the two edges share one address in one process, and have one each otherwise. */
  addressFor(method: string, path: string): string;
  /** Every address that checks keys. */
  readonly edges: readonly string[];
  readonly adminKey: string;
  /** A key of any tenant, the tenant made as needed. */
  keyOf(tenantId: string, ...scopes: Scope[]): Promise<{ id: string; key: string }>;
  /** How many rules each evaluator has in force: a new rule reaches all of them within a second, not at once. */
  ruleCounts(): Promise<readonly number[]>;
  /** What a subscriber on the bus sees, from now on. */
  readonly bus: EventBus;
  /** Stops everything and starts it again on the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}
