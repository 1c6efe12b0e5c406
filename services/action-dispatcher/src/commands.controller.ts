import { COMMANDS, type QuestionOf } from '@agentlens/contracts';
import { HandlesCommand } from '@agentlens/platform';
import { Controller, Inject, UseFilters } from '@nestjs/common';
import { AlertService } from './alerts/alert.service.ts';
import { DatabaseErrorFilter } from './answer.ts';
import { AlertDecisions } from './approvals/alert-decisions.ts';
import { ApprovalPolicies } from './approvals/approval-policies.ts';
import { Approvals } from './approvals/approvals.ts';
import { VoteReads } from './approvals/votes.ts';
import { ControlOrdersService } from './control/control-orders.service.ts';
import { Channels } from './channels/channels.service.ts';
import { RoutingDocuments, Silences } from './notices/routing-documents.ts';
import { SlackClicks } from './slack/slack-clicks.ts';
import { Redelivery } from './deliveries/redelivery.ts';
import { AgentControl } from './directives/agent-control.ts';
import { RunActions } from './removal/run-actions.repository.ts';
import { WebhookEndpointsService } from './webhooks/webhook-endpoints.service.ts';

type Question<Name extends keyof typeof COMMANDS> = QuestionOf<(typeof COMMANDS)[Name]>;

/** Every command that this service answers. */
@Controller()
@UseFilters(DatabaseErrorFilter)
export class DispatcherCommands {
  constructor(
    @Inject(Approvals) private readonly approvals: Approvals,
    @Inject(AlertService) private readonly alerts: AlertService,
    @Inject(AlertDecisions) private readonly decisions: AlertDecisions,
    @Inject(ControlOrdersService) private readonly orders: ControlOrdersService,
    @Inject(AgentControl) private readonly agents: AgentControl,
    @Inject(WebhookEndpointsService) private readonly webhooks: WebhookEndpointsService,
    @Inject(Redelivery) private readonly redelivery: Redelivery,
    @Inject(VoteReads) private readonly votes: VoteReads,
    @Inject(ApprovalPolicies) private readonly policies: ApprovalPolicies,
    @Inject(Channels) private readonly channels: Channels,
    @Inject(RoutingDocuments) private readonly routes: RoutingDocuments,
    @Inject(Silences) private readonly silences: Silences,
    @Inject(SlackClicks) private readonly clicks: SlackClicks,
    @Inject(RunActions) private readonly runActions: RunActions,
  ) {}

  @HandlesCommand(COMMANDS.resolveApproval)
  resolveApproval(question: Question<'resolveApproval'>) {
    return this.approvals.resolve(question);
  }

  @HandlesCommand(COMMANDS.spendApprovals)
  spendApprovals(calls: Question<'spendApprovals'>) {
    return this.approvals.spend(calls);
  }

  @HandlesCommand(COMMANDS.raiseAlert)
  raiseAlert(draft: Question<'raiseAlert'>) {
    return this.alerts.answer(draft);
  }

  @HandlesCommand(COMMANDS.reportChanges)
  reportChanges(report: Question<'reportChanges'>) {
    return this.alerts.report(report);
  }

  @HandlesCommand(COMMANDS.decideAlert)
  decideAlert(verdict: Question<'decideAlert'>) {
    return this.decisions.decide(verdict);
  }

  @HandlesCommand(COMMANDS.readVotes)
  readVotes(question: Question<'readVotes'>) {
    return this.votes.read(question);
  }

  @HandlesCommand(COMMANDS.setApprovalPolicy)
  setApprovalPolicy(draft: Question<'setApprovalPolicy'>) {
    return this.policies.set(draft);
  }

  @HandlesCommand(COMMANDS.deleteApprovalPolicy)
  deleteApprovalPolicy(ref: Question<'deleteApprovalPolicy'>) {
    return this.policies.delete(ref);
  }

  @HandlesCommand(COMMANDS.orderControl)
  orderControl(order: Question<'orderControl'>) {
    return this.orders.order(order);
  }

  @HandlesCommand(COMMANDS.unpauseAgent)
  unpauseAgent(order: Question<'unpauseAgent'>) {
    return this.agents.unpause(order);
  }

  @HandlesCommand(COMMANDS.createWebhook)
  createWebhook({ tenantId, draft, author }: Question<'createWebhook'>) {
    return this.webhooks.create(tenantId, draft, author);
  }

  @HandlesCommand(COMMANDS.updateWebhook)
  updateWebhook({ patch, ...endpoint }: Question<'updateWebhook'>) {
    return this.webhooks.update(endpoint, patch);
  }

  @HandlesCommand(COMMANDS.deleteWebhook)
  deleteWebhook(endpoint: Question<'deleteWebhook'>) {
    return this.webhooks.delete(endpoint);
  }

  @HandlesCommand(COMMANDS.rotateWebhookSecret)
  rotateWebhookSecret(endpoint: Question<'rotateWebhookSecret'>) {
    return this.webhooks.rotateSecret(endpoint);
  }

  @HandlesCommand(COMMANDS.testWebhook)
  testWebhook(endpoint: Question<'testWebhook'>) {
    return this.webhooks.test(endpoint);
  }

  @HandlesCommand(COMMANDS.setChannel)
  setChannel(draft: Question<'setChannel'>) {
    return this.channels.set(draft);
  }

  @HandlesCommand(COMMANDS.deleteChannel)
  deleteChannel(ref: Question<'deleteChannel'>) {
    return this.channels.delete(ref);
  }

  @HandlesCommand(COMMANDS.testChannel)
  testChannel(ref: Question<'testChannel'>) {
    return this.channels.test(ref);
  }

  @HandlesCommand(COMMANDS.setRoutes)
  setRoutes(draft: Question<'setRoutes'>) {
    return this.routes.set(draft);
  }

  @HandlesCommand(COMMANDS.createSilence)
  createSilence(draft: Question<'createSilence'>) {
    return this.silences.create(draft);
  }

  @HandlesCommand(COMMANDS.endSilence)
  endSilence(ref: Question<'endSilence'>) {
    return this.silences.end(ref);
  }

  @HandlesCommand(COMMANDS.takeSlackClick)
  takeSlackClick(click: Question<'takeSlackClick'>) {
    return this.clicks.take(click);
  }

  @HandlesCommand(COMMANDS.linkChat)
  linkChat(link: Question<'linkChat'>) {
    return this.clicks.link(link);
  }

  @HandlesCommand(COMMANDS.redeliver)
  redeliver(order: Question<'redeliver'>) {
    return this.redelivery.redeliver(order);
  }

  @HandlesCommand(COMMANDS.deleteRunActions)
  deleteRunActions({ tenantId, runIds }: Question<'deleteRunActions'>) {
    return this.runActions.delete(tenantId, runIds);
  }

  @HandlesCommand(COMMANDS.eraseRunActions)
  eraseRunActions({ tenantId, runIds }: Question<'eraseRunActions'>) {
    return this.runActions.erase(tenantId, runIds);
  }
}
