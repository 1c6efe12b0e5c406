/** The part of a pino logger the bus uses. */
export interface BusLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const SILENT: BusLogger = { info: () => undefined, warn: () => undefined, error: () => undefined };
