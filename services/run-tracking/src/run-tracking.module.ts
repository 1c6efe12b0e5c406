import type { Database } from '@agentlens/database';
import type { EventBus } from '@agentlens/messaging';
import {
  CLOCK,
  type Clock,
  CONFIG,
  DATABASE,
  EVALUATION_TALLY,
  EVENT_BUS,
  HEALTH,
  type HealthRegistry,
  LOGGER,
  type Platform,
  PlatformModule,
} from '@agentlens/platform';
import type { EvaluationTally } from '@agentlens/state';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Auditor } from './audit/auditor.ts';
import { DecisionTracker } from './decisions/decision-tracker.ts';
import { RunSweeper } from './life/run-sweeper.ts';
import { ActorEraser } from './removal/actor-eraser.ts';
import { ContentRetention } from './removal/content-retention.ts';
import { RunDeleter } from './removal/run-deleter.ts';
import { GROUP, RunTracker } from './run-tracker.ts';

/** Stores agent events and decisions, keeps runs, agents and their days, ends silent runs. Speaks to the bus only. */
@Module({})
export class RunTrackingModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(RunTracker) private readonly tracker: RunTracker,
    @Inject(DecisionTracker) private readonly decisions: DecisionTracker,
    @Inject(RunSweeper) private readonly sweeper: RunSweeper,
    @Inject(RunDeleter) private readonly deleter: RunDeleter,
    @Inject(ActorEraser) private readonly eraser: ActorEraser,
    @Inject(ContentRetention) private readonly contents: ContentRetention,
    @Inject(Auditor) private readonly auditor: Auditor | null,
  ) {}

  static register(platform: Platform): DynamicModule {
    return {
      module: RunTrackingModule,
      imports: [PlatformModule.forService(platform, 'run-tracking')],
      providers: [
        { provide: RunTracker, useFactory: tracker, inject: PARTS },
        { provide: DecisionTracker, useFactory: decisions, inject: PARTS },
        { provide: RunSweeper, useFactory: sweeper, inject: PARTS },
        { provide: RunDeleter, useFactory: deleter, inject: PARTS },
        { provide: ActorEraser, useFactory: eraser, inject: PARTS },
        { provide: ContentRetention, useFactory: contents, inject: PARTS },
        { provide: Auditor, useFactory: auditor, inject: [EVALUATION_TALLY, ...PARTS] },
      ],
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.tracker.start();
    await this.decisions.start();
    await this.sweeper.start();
    await this.deleter.start();
    await this.eraser.start();
    this.contents.start();
    this.auditor?.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    const { tracker, decisions, sweeper, deleter, eraser, contents, auditor } = this;
    const parts = [tracker, decisions, sweeper, deleter, eraser, contents, auditor];
    await Promise.all(parts.map(async (part) => part?.stop()));
  }
}

const PARTS = [EVENT_BUS, DATABASE, CLOCK, LOGGER, HEALTH, CONFIG];
type Parts = [EventBus, Database, Clock, Platform['logger'], HealthRegistry, Platform['config']];

/** In one process a request is answered when its events are stored: there nobody is kept waiting. */
const PACE_MS = { memory: 0, nats: 200 } as const;

function tracker(...[bus, database, clock, logger, health, config]: Parts): RunTracker {
  const { retentionDays } = config;
  return new RunTracker({ bus, database, clock, logger, health, retentionDays, paceMs: PACE_MS[config.bus.kind] });
}

function decisions(...[bus, database, clock, logger, health, { retentionDays }]: Parts): DecisionTracker {
  return new DecisionTracker({ bus, database, clock, logger, health, retentionDays });
}

function sweeper(...[bus, database, clock, logger, _health, { otlp }]: Parts): RunSweeper {
  return new RunSweeper({ bus, database, clock, logger, eventsGroup: GROUP, quietSeconds: otlp.quietSeconds });
}

function deleter(...[bus, database, _clock, logger]: Parts): RunDeleter {
  return new RunDeleter({ bus, database, logger });
}

function eraser(...[bus, database, _clock, logger]: Parts): ActorEraser {
  return new ActorEraser({ bus, database, logger });
}

function contents(...[_bus, database, clock, logger]: Parts): ContentRetention {
  return new ContentRetention({ database, clock, logger });
}

function auditor(
  evaluationTally: EvaluationTally,
  ...[bus, database, clock, logger, health, config]: Parts
): Auditor | null {
  return config.auditEnabled ? new Auditor({ bus, database, evaluationTally, clock, logger, health }) : null;
}
