import type { Database } from '@agentlens/database';
import type { EgressPolicy } from '@agentlens/egress';
import type { BreakerStore, BudgetStore, CallHistory, CooldownStore, WindowStore } from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import type { Clock, ControlBoard, Platform, SecretBox } from '@agentlens/platform';
import type { EvaluationTally } from '@agentlens/state';

/** What the evaluator needs of the world. */
export interface EvaluatorPorts {
  readonly bus: EventBus;
  readonly windows: WindowStore;
  readonly cooldowns: CooldownStore;
  readonly calls: CallHistory;
  readonly breakers: BreakerStore;
  readonly budgets: BudgetStore;
  readonly control: Pick<ControlBoard, 'stateOf'>;
  /** Absent: nobody audits. */
  readonly evaluationTally?: EvaluationTally | undefined;
  readonly database: Database;
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly egressPolicy: EgressPolicy;
  readonly logger: Platform['logger'];
}
