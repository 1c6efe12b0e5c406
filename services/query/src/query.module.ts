import type { Database } from '@agentlens/database';
import {
  ApiKeys,
  type HealthRegistry,
  type Platform,
  PriceBooks,
  port,
  portProviders,
  SessionCookies,
  StreamTickets,
} from '@agentlens/platform';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { ActivityQueries } from './activity/activity.queries.ts';
import { AgentsController } from './agents/agents.controller.ts';
import { AgentsQueries } from './agents/agents.queries.ts';
import { HealthQueries } from './agents/health.queries.ts';
import { AlertsController } from './alerts/alerts.controller.ts';
import { AlertsQueries } from './alerts/alerts.queries.ts';
import { ApprovalPoliciesController } from './alerts/approval-policies.controller.ts';
import { AnalyticsController } from './analytics/analytics.controller.ts';
import { AnalyticsQueries } from './analytics/analytics.queries.ts';
import { SpendQueries } from './analytics/spend.queries.ts';
import { AuditController, AuditQueries, Deploys } from './audit/audit.controller.ts';
import { BacktestsController } from './backtests/backtests.controller.ts';
import { BacktestsQueries } from './backtests/backtests.queries.ts';
import { BreakersController } from './breakers/breakers.controller.ts';
import { BreakersQueries } from './breakers/breakers.queries.ts';
import { BudgetsController } from './budgets/budgets.controller.ts';
import { BudgetsQueries } from './budgets/budgets.queries.ts';
import { ChannelsController } from './channels/channels.controller.ts';
import { ChannelsQueries } from './channels/channels.queries.ts';
import { SlackController } from './channels/slack.controller.ts';
import { ConsoleServer } from './console/console-server.ts';
import { ControlController, ControlQueries, OrderWatch } from './control/control.controller.ts';
import { DecisionsController, DecisionsQueries } from './decisions/decisions.controller.ts';
import { Refusals, RefusalsController } from './decisions/refusals.ts';
import { IncidentController, IncidentQueries } from './incident/incident.controller.ts';
import { ErasuresController, ErasuresQueries } from './erasures/erasures.controller.ts';
import { EventsController, EventsQueries } from './events/events.controller.ts';
import { DeliveriesQueries } from './guardrails/deliveries.queries.ts';
import { PastCallsQueries, RuleDraftsController } from './guardrails/rule-drafts.controller.ts';
import { RuleRolloutsController } from './guardrails/rule-rollouts.controller.ts';
import { RuleStateQueries } from './guardrails/rule-state.queries.ts';
import { RuleSummariesQueries } from './guardrails/rule-summaries.queries.ts';
import { RuleVersionsController, RuleVersionsQueries } from './guardrails/rule-versions.controller.ts';
import { RulesController } from './guardrails/rules.controller.ts';
import { RulesQueries } from './guardrails/rules.queries.ts';
import { RulesetsController } from './guardrails/rulesets.controller.ts';
import { RulesetsQueries } from './guardrails/rulesets.queries.ts';
import { DeliveriesController, TriggersController } from './guardrails/triggers.controller.ts';
import { TriggersQueries } from './guardrails/triggers.queries.ts';
import { Commands } from './http/commands.ts';
import { TenantReads } from './http/tenant-reads.ts';
import { KeyNames } from './keys/key-names.ts';
import { KeyUseRecorder } from './keys/key-use-recorder.ts';
import { KeysController } from './keys/keys.controller.ts';
import { LogController, TilesServer } from './log/log.controller.ts';
import { LogQueries } from './log/log.queries.ts';
import { McpEndpoint } from './mcp/mcp-endpoint.ts';
import { MetricsController, MetricsQueries } from './metrics/metrics.controller.ts';
import { ModelCallsController } from './model-connections/model-calls.controller.ts';
import {
  ModelConnectionsController,
  ModelConnectionsRepository,
} from './model-connections/model-connections.controller.ts';
import { ChangeWatch } from './now/change-watch.ts';
import { NowController } from './now/now.controller.ts';
import { NowQueries } from './now/now.queries.ts';
import { UnusualQueries } from './now/unusual.queries.ts';
import { ServedPackages } from './packages/served-packages.ts';
import { PackagesServer } from './packages/packages-server.ts';
import { InvoiceQueries } from './prices/invoice.queries.ts';
import { PricesController, RepricesQueries } from './prices/prices.controller.ts';
import { PricesRepository } from './prices/prices.repository.ts';
import { UsageQueries } from './prices/usage.queries.ts';
import { Deputies } from './people/deputies.repository.ts';
import { OnCallSchedules } from './people/on-call.repository.ts';
import { IdentityProviders } from './people/identity-providers.ts';
import { People } from './people/people.repository.ts';
import { PersonKeys } from './people/person-keys.ts';
import { Teams } from './people/teams.repository.ts';
import { RunDetailQueries } from './runs/run-detail.queries.ts';
import { RunFacetsQueries } from './runs/run-facets.queries.ts';
import { RunTimelineQueries } from './runs/run-timeline.queries.ts';
import { RunTreeQueries } from './runs/run-tree.queries.ts';
import { RunsController } from './runs/runs.controller.ts';
import { RunsQueries } from './runs/runs.queries.ts';
import { SavedViewsController, SavedViewsRepository } from './saved-views/saved-views.controller.ts';
import { SearchController, SearchQueries } from './search/search.controller.ts';
import { TextSearchQueries } from './search/text-search.queries.ts';
import { BrowserSessions } from './session/browser-sessions.repository.ts';
import { DeputiesController } from './session/deputies.controller.ts';
import { OnCallController } from './session/on-call.controller.ts';
import { IdentityProvidersController, PeopleController, PersonalKeysController } from './session/people.controller.ts';
import { Logins } from './session/logins.ts';
import { ProviderLogoutController } from './session/provider-logout.controller.ts';
import { ProviderSignInController } from './session/provider-sign-in.controller.ts';
import { SessionController } from './session/session.controller.ts';
import { BreakGlassUse } from './session/break-glass-use.ts';
import { SignInCodes } from './session/sign-in-codes.ts';
import { SessionsController, SessionsQueries } from './sessions/sessions.controller.ts';
import { SettingsController } from './settings/settings.controller.ts';
import { SettingsRepository } from './settings/settings.repository.ts';
import { SignInAttempts } from './sign-in/attempts.ts';
import { ProviderClient } from './sign-in/provider-client.ts';
import { LiveStreamService, StreamMetrics } from './stream/live-stream.service.ts';
import { OpenStreams } from './stream/open-streams.ts';
import { RecordFeed } from './stream/record-feed.ts';
import { StreamController } from './stream/stream.controller.ts';
import { ServiceController, SystemController } from './system/system.controller.ts';
import { SystemReads } from './system/system.reads.ts';
import { TenantsController, TenantsRepository } from './tenants/tenants.controller.ts';
import { WebhooksController, WebhooksQueries } from './webhooks/webhooks.controller.ts';

/** Readiness check: the service cannot serve reads without its database. */
@Injectable()
class DatabaseReadiness implements OnApplicationBootstrap {
  constructor(
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('health')) private readonly health: HealthRegistry,
  ) {}

  onApplicationBootstrap(): void {
    this.health.add('query-database', async () => {
      await this.database.ping();
      return { ok: true };
    });
  }
}

/** Keeps the prices of this service current while it runs. */
@Injectable()
class PriceReading implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(PriceBooks) private readonly books: PriceBooks) {}

  onApplicationBootstrap(): Promise<void> {
    return this.books.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.books.stop();
  }
}

/**
 * The operator API: reads for one tenant at a time, commands to the services that own the data, live streams and API
 * keys.
 */
@Module({})
export class QueryModule {
  static register(platform: Platform): DynamicModule {
    return {
      module: QueryModule,
      controllers: [
        RulesController,
        RuleVersionsController,
        RuleRolloutsController,
        RulesetsController,
        RuleDraftsController,
        TriggersController,
        DeliveriesController,
        WebhooksController,
        EventsController,
        ErasuresController,
        LogController,
        SavedViewsController,
        SearchController,
        SessionsController,
        RunsController,
        DecisionsController,
        RefusalsController,
        IncidentController,
        NowController,
        AgentsController,
        AnalyticsController,
        PricesController,
        ModelCallsController,
        ModelConnectionsController,
        MetricsController,
        AlertsController,
        ApprovalPoliciesController,
        ChannelsController,
        SlackController,
        ControlController,
        BacktestsController,
        BreakersController,
        BudgetsController,
        SettingsController,
        AuditController,
        TenantsController,
        SystemController,
        StreamController,
        KeysController,
        ServiceController,
        SessionController,
        ProviderSignInController,
        ProviderLogoutController,
        IdentityProvidersController,
        PeopleController,
        PersonalKeysController,
        DeputiesController,
        OnCallController,
      ],
      providers: [
        ...portProviders(platform, 'query'),
        TenantReads,
        Commands,
        DatabaseReadiness,
        RulesQueries,
        RuleVersionsQueries,
        RulesetsQueries,
        RuleStateQueries,
        RuleSummariesQueries,
        PastCallsQueries,
        TriggersQueries,
        DeliveriesQueries,
        WebhooksQueries,
        EventsQueries,
        ErasuresQueries,
        LogQueries,
        SavedViewsRepository,
        SearchQueries,
        TextSearchQueries,
        SessionsQueries,
        RunsQueries,
        RunDetailQueries,
        RunTimelineQueries,
        RunTreeQueries,
        RunFacetsQueries,
        NowQueries,
        UnusualQueries,
        ChangeWatch,
        DecisionsQueries,
        Refusals,
        IncidentQueries,
        AgentsQueries,
        HealthQueries,
        ActivityQueries,
        AnalyticsQueries,
        SpendQueries,
        PricesRepository,
        ModelConnectionsRepository,
        UsageQueries,
        RepricesQueries,
        InvoiceQueries,
        {
          provide: PriceBooks,
          useFactory: () => new PriceBooks({ ...platform, database: platform.database('query') }),
        },
        PriceReading,
        // Only this service may write keys.
        {
          provide: ApiKeys,
          useFactory: (database: Database, logger: Platform['logger']) =>
            new ApiKeys(database, platform.bus, platform.clock, logger),
          inject: [port('database'), port('logger')],
        },
        MetricsQueries,
        AlertsQueries,
        ControlQueries,
        OrderWatch,
        BacktestsQueries,
        BreakersQueries,
        ChannelsQueries,
        BudgetsQueries,
        SettingsRepository,
        AuditQueries,
        Deploys,
        TenantsRepository,
        SystemReads,
        KeyNames,
        LiveStreamService,
        OpenStreams,
        RecordFeed,
        StreamMetrics,
        KeyUseRecorder,
        { provide: SessionCookies, useFactory: () => new SessionCookies(platform) },
        { provide: StreamTickets, useFactory: () => new StreamTickets(platform) },
        BreakGlassUse,
        BrowserSessions,
        SignInCodes,
        Logins,
        SignInAttempts,
        ProviderClient,
        IdentityProviders,
        People,
        PersonKeys,
        Teams,
        Deputies,
        OnCallSchedules,
        ConsoleServer,
        { provide: ServedPackages, useFactory: () => new ServedPackages() },
        PackagesServer,
        TilesServer,
        McpEndpoint,
      ],
    };
  }
}
