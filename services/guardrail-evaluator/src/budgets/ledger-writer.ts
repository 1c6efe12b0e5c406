import type { BudgetStore } from '@agentlens/guardrails';
import { LoopProgress, type Platform } from '@agentlens/platform';
import type { BudgetsRepository } from './budgets.repository.ts';
import { carryOver } from './seeded-budget-store.ts';

const EVERY_MS = 1_000;
/** Every this many flushes, all tenants are checked for entries that a crashed instance left behind. */
const ALL_EVERY = 30;

/**
 * Moves spending from the store into the ledger. Entries stay in the store until they are written, so a crash loses
 * none. Several instances may write the same entry; the ledger keeps it once.
 */
export class LedgerWriter {
  readonly #store: Pick<BudgetStore, 'unrecorded' | 'recorded'>;
  readonly #ledger: Pick<BudgetsRepository, 'record'>;
  readonly #logger: Platform['logger'];
  readonly #tenants: () => Iterable<string>;
  /** Tenants this instance spent for, including those whose last budget has been deleted since. */
  readonly #touched = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #flushes = 0;

  constructor(
    store: Pick<BudgetStore, 'unrecorded' | 'recorded'>,
    ledger: Pick<BudgetsRepository, 'record'>,
    tenants: () => Iterable<string>,
    logger: Platform['logger'],
    readonly progress = new LoopProgress(),
  ) {
    this.#store = store;
    this.#ledger = ledger;
    this.#tenants = tenants;
    this.#logger = logger;
  }

  start(everyMs = EVERY_MS): void {
    this.#timer = setInterval(() => void this.flush(), everyMs).unref();
  }

  touch(tenantId: string): void {
    this.#touched.add(tenantId);
  }

  /** Writes what the tenant has spent so far. Resolves also if that failed: the entries stay, and the next flush retries. */
  async write(tenantId: string): Promise<void> {
    this.touch(tenantId);
    // A flush in progress may have read the entries before the last one was added.
    await this.#working;
    await this.flush();
  }

  /** Writes the waiting entries; joins a flush in progress. Never rejects. */
  flush(): Promise<void> {
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
    return this.#working;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#working;
    await this.flush();
  }

  async #work(): Promise<void> {
    const all = this.#flushes++ % ALL_EVERY === 0 || this.#timer === undefined;
    const tenants = new Set([...(all ? this.#tenants() : []), ...this.#touched]);
    this.#touched.clear();
    const waiting = new Set(tenants);
    for (const tenantId of tenants) {
      try {
        await this.progress.attempt(() => carryOver(this.#store, this.#ledger, tenantId));
        waiting.delete(tenantId);
      } catch (error) {
        // The next flush begins with the others.
        waiting.delete(tenantId);
        for (const one of [...waiting, tenantId]) this.#touched.add(one);
        this.#logger.warn({ err: error, tenantId }, 'writing to the budget ledger failed, will retry');
        return;
      }
    }
  }
}
