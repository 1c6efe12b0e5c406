import {
  agentEvents,
  COMMANDS,
  type Decision,
  decisionDecided,
  type EventBatch,
  GROUPS,
  type QuestionOf,
} from '@agentlens/contracts';
import type { ConsumeOptions, Received } from '@agentlens/messaging';
import { Consumes, HandlesCommand } from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { DecisionTracker } from './decisions/decision-tracker.ts';
import { Repricer } from './prices/repricer.ts';
import { ActorEraser } from './removal/actor-eraser.ts';
import { RunDeleter } from './removal/run-deleter.ts';
import { RunTracker } from './run-tracker.ts';

/** After this time the messages of a replica that died are redelivered. */
const ACK_WAIT_MS = 5_000;

/** Calls are gathered into statements, so many of them run at once; small messages come one to a call. */
export const EVENTS: ConsumeOptions = {
  group: GROUPS.runTracking,
  maxBatch: 4,
  concurrency: 100,
  ackWaitMs: ACK_WAIT_MS,
  lazy: true,
};

export const DECISIONS: ConsumeOptions = {
  group: GROUPS.decisions,
  maxBatch: 500,
  concurrency: 2,
  ackWaitMs: ACK_WAIT_MS,
};

/** Every topic that this service consumes. */
@Controller()
export class RunTrackingTopics {
  constructor(
    @Inject(RunTracker) private readonly tracker: RunTracker,
    @Inject(DecisionTracker) private readonly decisions: DecisionTracker,
  ) {}

  @Consumes(agentEvents, EVENTS)
  onEvents(messages: readonly Received<EventBatch>[]) {
    return this.tracker.take(messages);
  }

  @Consumes(decisionDecided, DECISIONS)
  onDecisions(messages: readonly Received<Decision>[]) {
    return this.decisions.take(messages);
  }
}

/** Every command that this service answers. */
@Controller()
export class RunTrackingCommands {
  constructor(
    @Inject(RunDeleter) private readonly deleter: RunDeleter,
    @Inject(ActorEraser) private readonly eraser: ActorEraser,
    @Inject(Repricer) private readonly repricer: Repricer,
  ) {}

  @HandlesCommand(COMMANDS.deleteRun)
  deleteRun(question: QuestionOf<typeof COMMANDS.deleteRun>) {
    return this.deleter.delete(question);
  }

  @HandlesCommand(COMMANDS.eraseActor)
  eraseActor(question: QuestionOf<typeof COMMANDS.eraseActor>) {
    return this.eraser.begin(question);
  }

  @HandlesCommand(COMMANDS.startReprice)
  startReprice(question: QuestionOf<typeof COMMANDS.startReprice>) {
    return this.repricer.begin(question);
  }
}
