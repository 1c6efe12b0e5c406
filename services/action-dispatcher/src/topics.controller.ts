import {
  type BreakerChanged,
  breakerChanged,
  type DirectiveAcknowledged,
  directiveAcknowledged,
  GROUPS,
  guardrailTriggered,
  type Trigger,
} from '@agentlens/contracts';
import { each, type Received } from '@agentlens/messaging';
import { Consumes } from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { BreakerAlerts } from './alerts/breaker-alerts.ts';
import { Acknowledgements } from './control/control-orders.service.ts';
import { TriggerIntake } from './triggers/trigger-recorder.ts';

const MAX_TRIGGERS = 256;
/** Triggers that follow one another are recorded together: three cost one synced transaction, as one does. */
const TRIGGERS_PACE_MS = 25;
const MAX_BATCH = 64;
/** Messages of one batch that are handled at once. */
const CONCURRENCY = 4;

/** Every topic that this service consumes. */
@Controller()
export class DispatcherTopics {
  constructor(
    @Inject(TriggerIntake) private readonly triggers: TriggerIntake,
    @Inject(BreakerAlerts) private readonly breakers: BreakerAlerts,
    @Inject(Acknowledgements) private readonly acknowledgements: Acknowledgements,
  ) {}

  @Consumes(guardrailTriggered, { group: GROUPS.actionDispatcher, maxBatch: MAX_TRIGGERS, paceMs: TRIGGERS_PACE_MS })
  onTriggers(messages: readonly Received<Trigger>[]) {
    return this.triggers.take(messages);
  }

  @Consumes(breakerChanged, { group: GROUPS.breakerAlerts, maxBatch: MAX_BATCH })
  onBreakers(messages: readonly Received<BreakerChanged>[]) {
    return each<BreakerChanged>(({ value }) => this.breakers.take(value), CONCURRENCY)(messages);
  }

  @Consumes(directiveAcknowledged, { group: GROUPS.acknowledgements, maxBatch: MAX_BATCH })
  onAcknowledgements(messages: readonly Received<DirectiveAcknowledged>[]) {
    return each<DirectiveAcknowledged>(({ value }) => this.acknowledgements.take(value), CONCURRENCY)(messages);
  }
}
