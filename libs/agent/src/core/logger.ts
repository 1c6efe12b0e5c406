/** Where the runtime's warnings go; silent by default. */
export interface RuntimeLogger {
  warn(message: string): void;
}

export const SILENT_LOGGER: RuntimeLogger = { warn: () => undefined };
