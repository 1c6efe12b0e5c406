import type { LoggerService } from '@nestjs/common';
import type { Logger } from 'pino';

/** Sends Nest's messages to our log; those about modules and routes at `debug`. */
export function nestLogger(logger: Logger): LoggerService {
  return {
    log: (message: unknown, ...rest: unknown[]) => logger.debug({ nest: rest }, String(message)),
    verbose: (message: unknown, ...rest: unknown[]) => logger.trace({ nest: rest }, String(message)),
    debug: (message: unknown, ...rest: unknown[]) => logger.debug({ nest: rest }, String(message)),
    warn: (message: unknown, ...rest: unknown[]) => logger.warn({ nest: rest }, String(message)),
    error: (message: unknown, ...rest: unknown[]) => {
      // Also thrown, and explained by the caller of `listen`.
      const level = String(message).includes('EADDRINUSE') ? 'debug' : 'error';
      logger[level]({ nest: rest, err: asError(message) }, String(message));
    },
    fatal: (message: unknown, ...rest: unknown[]) =>
      logger.fatal({ nest: rest, err: asError(message) }, String(message)),
  };
}

function asError(message: unknown): Error | undefined {
  return message instanceof Error ? message : undefined;
}
