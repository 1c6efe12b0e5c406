import { agentEvents, COMMANDS, type EventBatch, GROUPS, type QuestionOf } from '@agentlens/contracts';
import type { ConsumeOptions, Received } from '@agentlens/messaging';
import { Consumes, HandlesCommand } from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { AgentEventsConsumer } from './agent-events.consumer.ts';
import { DecisionPipeline } from './decisions/decision-pipeline.ts';
import { TenantBooks } from './decisions/tenant-books.ts';
import { EvaluatorLifecycle } from './lifecycle.ts';

export const EVENTS: ConsumeOptions = {
  group: GROUPS.guardrailEvaluator,
  maxBatch: 1,
  // Batches held at once. The evaluator decides their order, so that the busiest tenant does not.
  concurrency: 128,
  // After this time the batches of a crashed evaluator are redelivered; running handlers extend it.
  ackWaitMs: 5_000,
  lazy: true,
};

/** Handles decisions, the books of gateways, and events. All start when the rules are loaded. */
@Controller()
export class EvaluationController {
  constructor(
    @Inject(DecisionPipeline) private readonly decisions: DecisionPipeline,
    @Inject(TenantBooks) private readonly books: TenantBooks,
    @Inject(AgentEventsConsumer) private readonly consumer: AgentEventsConsumer,
  ) {}

  @HandlesCommand(COMMANDS.decide, { whenReady: (find) => find(EvaluatorLifecycle).loaded })
  async decide(request: QuestionOf<typeof COMMANDS.decide>) {
    return { ok: true as const, value: await this.decisions.decide(request) };
  }

  @HandlesCommand(COMMANDS.tenantBook, { whenReady: (find) => find(EvaluatorLifecycle).loaded })
  async tenantBook(question: QuestionOf<typeof COMMANDS.tenantBook>) {
    return { ok: true as const, value: await this.books.answer(question) };
  }

  @Consumes(agentEvents, { ...EVENTS, whenReady: (find) => find(EvaluatorLifecycle).recovered })
  onEvents(messages: readonly Received<EventBatch>[]) {
    return this.consumer.take(messages);
  }
}
