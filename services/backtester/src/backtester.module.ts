import { COMMANDS, type QuestionOf } from '@agentlens/contracts';
import { HandlesCommand, type Platform, providersOf } from '@agentlens/platform';
import {
  Controller,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { BacktestWriter } from './backtest-writer.ts';
import { BacktestsRepository } from './backtests.repository.ts';
import { inThread } from './in-thread.ts';
import { JobRunner } from './job-runner.ts';

@Controller()
class BacktestCommands {
  constructor(
    @Inject(BacktestWriter) private readonly writer: BacktestWriter,
    @Inject(JobRunner) private readonly runner: JobRunner,
  ) {}

  @HandlesCommand(COMMANDS.createBacktest)
  async create({ tenantId, body, by }: QuestionOf<typeof COMMANDS.createBacktest>) {
    const created = await this.writer.create(tenantId, body, by);
    if (created.ok) this.runner.wake();
    return created;
  }

  @HandlesCommand(COMMANDS.cancelBacktest)
  async cancel({ tenantId, backtestId }: QuestionOf<typeof COMMANDS.cancelBacktest>) {
    const cancelled = await this.writer.cancel(tenantId, backtestId);
    if (cancelled.ok) this.runner.cancel(tenantId, backtestId);
    return cancelled;
  }
}

/** Evaluates rules over stored history, as jobs in a thread of their own. */
@Module({ controllers: [BacktestCommands] })
export class BacktesterModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(@Inject(JobRunner) private readonly runner: JobRunner) {}

  static register(platform: Platform): DynamicModule {
    const { bus, clock, config } = platform;
    const logger = platform.logger.child({ service: 'backtester' });
    const database = platform.database('backtester');
    const repository = new BacktestsRepository(database, clock);
    const writer = new BacktestWriter(repository, clock, config.retentionDays);
    const url = config.replicaUrl ?? database.pool.options.connectionString ?? '';
    const runner = new JobRunner({
      ...{ repository, bus, logger, progress: platform.health.watchLoop('backtests') },
      execute: (job, hooks) => inThread(url, job, hooks),
    });
    return { module: BacktesterModule, providers: providersOf({ repository, writer, runner }) };
  }

  onApplicationBootstrap(): void {
    this.runner.start();
  }

  /** A job that is not finished is continued by another instance after its lease. */
  async onApplicationShutdown(): Promise<void> {
    await this.runner.stop();
  }
}
