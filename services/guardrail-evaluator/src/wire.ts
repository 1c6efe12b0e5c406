import type { Database } from '@agentlens/database';
import { ControlBoard, ControlTables, type Platform } from '@agentlens/platform';
import { GuardrailEvaluator } from './guardrail-evaluator.ts';

type EvaluatorPlatform = Pick<
  Platform,
  | ('breakers' | 'budgets' | 'bus' | 'calls' | 'clock' | 'config' | 'cooldowns' | 'database')
  | ('egressPolicy' | 'evaluationTally' | 'health' | 'labels' | 'logger' | 'secrets' | 'windows')
>;

/** Ports of the evaluator, on its own database. */
export interface EvaluatorPorts extends Omit<EvaluatorPlatform, 'config' | 'database' | 'evaluationTally' | 'health'> {
  readonly health: Pick<Platform['health'], 'watchLoop'>;
  readonly control: Pick<ControlBoard, 'stateOf'>;
  readonly database: Database;
  /** Absent if the audit is disabled. */
  readonly evaluationTally?: Platform['evaluationTally'] | undefined;
}

/** Builds the service without starting it. */
export function wireEvaluator(platform: EvaluatorPlatform) {
  const { breakers, budgets, bus, calls, clock, config, cooldowns, egressPolicy, health, labels, secrets, windows } =
    platform;
  const logger = platform.logger.child({ service: 'guardrail-evaluator' });
  const database = platform.database('guardrail-evaluator');
  const control = new ControlBoard({
    ...{ bus, clock, logger, reader: new ControlTables(database) },
    onOrder: (order) => evaluator.decisions.ordered(order),
  });
  const evaluator = new GuardrailEvaluator({
    ...{
      breakers,
      budgets,
      bus,
      calls,
      clock,
      control,
      cooldowns,
      database,
      egressPolicy,
      health,
      labels,
      logger,
      secrets,
      windows,
    },
    evaluationTally: config.auditEnabled ? platform.evaluationTally : undefined,
  });
  health.add('control', async () => ({ ok: control.loaded }));
  health.add('guardrail-evaluator', () => evaluator.health());
  return { control, evaluator };
}
