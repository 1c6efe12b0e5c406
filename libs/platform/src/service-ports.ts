import type { Database } from '@agentlens/database';
import type { Provider } from '@nestjs/common';
import type { ServiceName } from './config/process-names.ts';
import type { Platform } from './platform.ts';

/** The ports as one service sees them: its own database, and a logger with its name. */
export interface ServicePorts extends Omit<Platform, 'database' | 'close'> {
  readonly database: Database;
}

/** Injection token of a port: `@Inject(port('clock')) clock: Clock`. */
export function port(name: keyof ServicePorts): string {
  return `port:${name}`;
}

/** Provides every port of the platform to the controllers and queries of a service. */
export function portProviders(platform: Platform, service: ServiceName): Provider[] {
  const ports = {
    ...platform,
    database: platform.database(service),
    logger: platform.logger.child({ service }),
  };
  return Object.entries(ports).map(([name, useValue]) => ({ provide: port(name as keyof ServicePorts), useValue }));
}
