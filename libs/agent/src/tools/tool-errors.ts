/** Throw it if a retry may help: the pipeline retries idempotent tools, then the model receives the error. */
export class ToolRetryableError extends Error {
  override readonly name = 'ToolRetryableError';
}

/** Throw it if a retry does not help. Any other error is treated the same. */
export class ToolFailedError extends Error {
  override readonly name = 'ToolFailedError';
}

/** Throw it if the run must end. */
export class ToolFatalError extends Error {
  override readonly name = 'ToolFatalError';
}
