/** The environment cannot be used as it is; the message says which variable and how to mend it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
