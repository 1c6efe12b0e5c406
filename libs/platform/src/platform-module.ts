import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { ApiKeys } from './auth/api-keys.ts';
import type { ServiceName } from './config/process-names.ts';
import { ControlBoard } from './control/control-board.ts';
import { ControlTables } from './control/control-tables.ts';
import type { Platform } from './platform.ts';
import {
  CLOCK,
  CONFIG,
  CONTROL_BOARD,
  DATABASE,
  EVENT_BUS,
  HEALTH,
  IDEMPOTENCY_STORE,
  KEY_DIRECTORY,
  LOGGER,
  PRESENCE,
  QUOTA,
  RUN_CONTEXTS,
  RUN_TREES,
  SECRET_BOX,
} from './tokens.ts';

/** Services that evaluate orders. The others cannot read those tables. */
const FOLLOWING_CONTROL: readonly ServiceName[] = ['ingest'];

/** Provides ports to the services that are not built by a `wire.ts` yet. */
@Module({})
export class PlatformModule {
  static forService(platform: Platform, name: ServiceName): DynamicModule {
    const ports: Provider[] = [
      { provide: CONFIG, useValue: platform.config },
      { provide: EVENT_BUS, useValue: platform.bus },
      { provide: QUOTA, useValue: platform.quota },
      { provide: IDEMPOTENCY_STORE, useValue: platform.idempotency },
      { provide: PRESENCE, useValue: platform.presence },
      { provide: RUN_CONTEXTS, useValue: platform.runContexts },
      { provide: RUN_TREES, useValue: platform.runTrees },
      { provide: DATABASE, useFactory: () => platform.database(name) },
      { provide: CLOCK, useValue: platform.clock },
      { provide: SECRET_BOX, useValue: platform.secrets },
      { provide: LOGGER, useFactory: () => platform.logger.child({ service: name }) },
      { provide: HEALTH, useValue: platform.health },
      { provide: KEY_DIRECTORY, useValue: platform.keys },
      ...(name === 'query' ? [apiKeysOf(platform)] : []),
      ...(FOLLOWING_CONTROL.includes(name) ? [controlBoardOf(platform, name)] : []),
    ];
    return { module: PlatformModule, providers: ports, exports: ports };
  }
}

/** Only `query` may write keys. */
function apiKeysOf(platform: Platform): Provider {
  return {
    provide: ApiKeys,
    useFactory: () =>
      new ApiKeys(
        platform.database('query'),
        platform.bus,
        platform.clock,
        platform.logger.child({ service: 'query' }),
      ),
  };
}

/** Nest starts and stops it with the module; it is loaded before the service starts. */
function controlBoardOf(platform: Platform, name: ServiceName): Provider {
  return {
    provide: CONTROL_BOARD,
    useFactory: () => {
      const { bus, clock, health } = platform;
      const logger = platform.logger.child({ service: name });
      const board = new ControlBoard({ bus, clock, logger, reader: new ControlTables(platform.database(name)) });
      health.add('control', async () => ({ ok: board.loaded }));
      return board;
    },
  };
}
