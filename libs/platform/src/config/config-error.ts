/** The environment is invalid. The message names the variable and the fix. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
