/** Receives the runtime's warnings; silent by default. */
export interface RuntimeLogger {
  warn(message: string): void;
}

export const SILENT_LOGGER: RuntimeLogger = { warn: () => undefined };
