import type { Database } from '@agentlens/database';
import type { EgressPolicy } from '@agentlens/egress';
import type { BreakerStore, BudgetStore, CallHistory, CooldownStore, WindowStore } from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import {
  BREAKER_STORE,
  BUDGET_STORE,
  CALL_HISTORY,
  CLOCK,
  type Clock,
  CONFIG,
  CONTROL_BOARD,
  COOLDOWN_STORE,
  type ControlBoard,
  DATABASE,
  EGRESS_POLICY,
  EVALUATION_TALLY,
  EVENT_BUS,
  HEALTH,
  type HealthRegistry,
  LOGGER,
  type Platform,
  type PlatformConfig,
  PlatformModule,
  SECRET_BOX,
  type SecretBox,
  WINDOW_STORE,
} from '@agentlens/platform';
import type { EvaluationTally } from '@agentlens/state';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { GuardrailEvaluator } from './guardrail-evaluator.ts';

/** Evaluates events against guardrail rules, and owns those rules. Speaks messages only, no HTTP. */
@Module({})
export class GuardrailEvaluatorModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    @Inject(GuardrailEvaluator) private readonly evaluator: GuardrailEvaluator,
    @Inject(HEALTH) private readonly health: HealthRegistry,
  ) {}

  static register(platform: Platform): DynamicModule {
    return {
      module: GuardrailEvaluatorModule,
      imports: [PlatformModule.forService(platform, 'guardrail-evaluator')],
      providers: [
        {
          provide: GuardrailEvaluator,
          useFactory: guardrailEvaluator,
          inject: [
            EVENT_BUS,
            WINDOW_STORE,
            COOLDOWN_STORE,
            CALL_HISTORY,
            BREAKER_STORE,
            BUDGET_STORE,
            CONTROL_BOARD,
            EVALUATION_TALLY,
            CONFIG,
            DATABASE,
            CLOCK,
            SECRET_BOX,
            EGRESS_POLICY,
            LOGGER,
          ],
        },
      ],
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    this.health.add('guardrail-evaluator', () => this.evaluator.health());
    await this.evaluator.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.evaluator.stop();
  }
}

function guardrailEvaluator(
  bus: EventBus,
  windows: WindowStore,
  cooldowns: CooldownStore,
  calls: CallHistory,
  breakers: BreakerStore,
  budgets: BudgetStore,
  control: ControlBoard,
  evaluationTally: EvaluationTally,
  config: PlatformConfig,
  database: Database,
  clock: Clock,
  secrets: SecretBox,
  egressPolicy: EgressPolicy,
  logger: Platform['logger'],
): GuardrailEvaluator {
  return new GuardrailEvaluator({
    ...{ bus, windows, cooldowns, calls, breakers, budgets, control },
    evaluationTally: config.auditEnabled ? evaluationTally : undefined,
    ...{ database, clock, secrets, egressPolicy, logger },
  });
}
