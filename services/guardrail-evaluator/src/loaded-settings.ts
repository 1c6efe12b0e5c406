import { type Budget, breakerChanged, rulesChanged } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';
import { type Clock, type Platform, TenantSettingsCache } from '@agentlens/platform';
import type { BreakersRepository, OpenBreakers } from './breakers/breakers.repository.ts';
import type { TenantLimits } from './breakers/limits.ts';
import type { BudgetsRepository } from './budgets/budgets.repository.ts';

/** Changed tenant settings must take effect within 5 s. */
const LIMITS_POLL_MS = 4_000;

interface LoadedSettingsDependencies {
  readonly breakers: Pick<BreakersRepository, 'limits' | 'open'>;
  readonly budgets: Pick<BudgetsRepository, 'budgets'>;
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/** The limits, budgets and open breakers of every tenant, in memory. */
export class LoadedSettings {
  readonly limits: TenantSettingsCache<TenantLimits>;
  readonly budgets: TenantSettingsCache<readonly Budget[]>;
  readonly open: TenantSettingsCache<OpenBreakers>;
  readonly #logger: Platform['logger'];

  constructor({ breakers, budgets, bus, clock, logger }: LoadedSettingsDependencies) {
    const shared = { bus, logger, now: () => clock.now() };
    this.#logger = logger;
    this.limits = new TenantSettingsCache({
      ...shared,
      topic: rulesChanged,
      name: 'breaker limits',
      reader: breakers.limits,
      pollMs: LIMITS_POLL_MS,
    });
    this.budgets = new TenantSettingsCache({
      ...shared,
      topic: rulesChanged,
      name: 'budgets',
      reader: budgets.budgets,
    });
    this.open = new TenantSettingsCache({
      ...shared,
      topic: breakerChanged,
      name: 'open breakers',
      reader: breakers.open,
    });
  }

  /** The number of budgets of all tenants. */
  get budgetCount(): number {
    let count = 0;
    for (const tenantId of this.budgets.tenants) count += this.budgets.of(tenantId)?.length ?? 0;
    return count;
  }

  /** @throws Error if the settings cannot be read; may then be called again */
  async start(): Promise<void> {
    await Promise.all([this.limits.start(), this.budgets.start(), this.open.start()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.limits.stop(), this.budgets.stop(), this.open.stop()]);
  }

  /** Reads the limits and budgets of a tenant again. */
  async reload(tenantId: string): Promise<void> {
    await Promise.all([this.limits.reload(tenantId), this.budgets.reload(tenantId)]);
  }

  /** The same after a committed change of one of them, which a failed read must not fail. */
  async apply(tenantId: string, which: 'limits' | 'budgets'): Promise<void> {
    await this[which].reload(tenantId).catch((err: unknown) => {
      this.#logger.warn({ err, tenantId }, 'applying a change failed, the next poll will retry');
    });
  }
}
