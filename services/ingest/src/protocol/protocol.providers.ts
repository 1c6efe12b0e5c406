import type { EventBus } from '@agentlens/messaging';
import {
  CLOCK,
  type Clock,
  CONFIG,
  CONTROL_BOARD,
  type ControlBoard,
  EVENT_BUS,
  HEALTH,
  type HealthRegistry,
  KEY_DIRECTORY,
  type KeyDirectory,
  LOGGER,
  type Platform,
  type PlatformConfig,
  PRESENCE,
  RUN_CONTEXTS,
  RUN_TREES,
  SECRET_BOX,
  type SecretBox,
  StreamTickets,
} from '@agentlens/platform';
import type { Presence, RunContexts, RunTrees } from '@agentlens/state';
import type { Provider } from '@nestjs/common';
import { EventIngestor } from '../event-ingestor.ts';
import { ProtocolAgentsController } from './agents.controller.ts';
import { ProtocolControlController } from './control.controller.ts';
import { ControlChannel } from './control-channel.ts';
import { DecideQuota } from './decide-quota.ts';
import { DecisionGateway } from './decision-gateway.ts';
import { DecisionPathParts } from './decision-path.ts';
import { EvaluateController } from './evaluate.controller.ts';
import { Heartbeats } from './heartbeats.ts';
import { KnownRuns } from './known-runs.ts';
import { Listeners } from './listeners.ts';
import { OwnRuns } from './own-runs.ts';
import { ProtocolMetrics } from './protocol-metrics.ts';
import { ProtocolRulesController } from './rules.controller.ts';
import { ProtocolRunsController } from './runs.controller.ts';
import { TreeLimiter } from './tree-limiter.ts';

type Logger = Platform['logger'];

export const PROTOCOL_CONTROLLERS = [
  ProtocolAgentsController,
  ProtocolRunsController,
  EvaluateController,
  ProtocolControlController,
  ProtocolRulesController,
];

export const PROTOCOL_PROVIDERS: Provider[] = [
  OwnRuns,
  ProtocolMetrics,
  {
    provide: StreamTickets,
    useFactory: (secrets: SecretBox, clock: Clock) => new StreamTickets({ secrets, clock }),
    inject: [SECRET_BOX, CLOCK],
  },
  { provide: DecideQuota, useFactory: (clock: Clock) => new DecideQuota(() => clock.now()), inject: [CLOCK] },
  {
    provide: Listeners,
    useFactory: (presence: Presence, logger: Logger) => new Listeners(presence, logger),
    inject: [PRESENCE, LOGGER],
  },
  {
    provide: KnownRuns,
    useFactory: (contexts: RunContexts, clock: Clock, logger: Logger) =>
      new KnownRuns(contexts, () => clock.now(), logger),
    inject: [RUN_CONTEXTS, CLOCK, LOGGER],
  },
  {
    provide: TreeLimiter,
    useFactory: (trees: RunTrees, clock: Clock, logger: Logger) => new TreeLimiter(trees, () => clock.now(), logger),
    inject: [RUN_TREES, CLOCK, LOGGER],
  },
  {
    provide: Heartbeats,
    useFactory: (bus: EventBus, metrics: ProtocolMetrics, logger: Logger) => new Heartbeats(bus, metrics, logger),
    inject: [EVENT_BUS, ProtocolMetrics, LOGGER],
  },
  {
    provide: DecisionPathParts,
    useFactory: (config: PlatformConfig, bus: EventBus, metrics: ProtocolMetrics, clock: Clock, logger: Logger) =>
      DecisionPathParts.open({ config, bus, metrics, clock, logger }),
    inject: [CONFIG, EVENT_BUS, ProtocolMetrics, CLOCK, LOGGER],
  },
  {
    provide: DecisionGateway,
    useFactory: (
      bus: EventBus,
      board: ControlBoard,
      ingestor: EventIngestor,
      metrics: ProtocolMetrics,
      clock: Clock,
      logger: Logger,
      path: DecisionPathParts,
    ) => new DecisionGateway({ bus, board, ingestor, metrics, clock, logger, local: path.local }),
    inject: [EVENT_BUS, CONTROL_BOARD, EventIngestor, ProtocolMetrics, CLOCK, LOGGER, DecisionPathParts],
  },
  {
    provide: ControlChannel,
    useFactory: (
      bus: EventBus,
      board: ControlBoard,
      listeners: Listeners,
      runs: KnownRuns,
      keys: KeyDirectory,
      clock: Clock,
      health: HealthRegistry,
      metrics: ProtocolMetrics,
      logger: Logger,
    ) => new ControlChannel({ bus, board, listeners, runs, keys, clock, health, metrics, logger }),
    inject: [EVENT_BUS, CONTROL_BOARD, Listeners, KnownRuns, KEY_DIRECTORY, CLOCK, HEALTH, ProtocolMetrics, LOGGER],
  },
];
