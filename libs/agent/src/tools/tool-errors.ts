/** Throw it where trying again may help: the pipeline does so for idempotent tools, then the model is told. */
export class ToolRetryableError extends Error {
  override readonly name = 'ToolRetryableError';
}

/** Throw it where trying again does not help. Any other error is taken for one. */
export class ToolFailedError extends Error {
  override readonly name = 'ToolFailedError';
}

/** Throw it where the run must end. */
export class ToolFatalError extends Error {
  override readonly name = 'ToolFatalError';
}
