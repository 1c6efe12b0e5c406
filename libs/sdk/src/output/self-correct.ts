import type { OutputSchema } from './schema.ts';
import { type OutputError, type ValidatedOutput, type ValidateOptions, validateOutput } from './validate-output.ts';

export interface SelfCorrectOptions extends ValidateOptions {
  /** Total model calls, including the first. Default 3. */
  readonly maxAttempts?: number;
}

export type Corrected<T> = ValidatedOutput<T> & { readonly attempts: number };

/**
 * Asks the model until its answer matches, up to `maxAttempts` times, and tells it what was wrong each time. `ask` gets
 * the text for the model (`correction.toPrompt()`), or nothing the first time. Its errors are rethrown.
 */
export async function selfCorrect<T>(
  ask: (correction: OutputError | null) => string | Promise<string>,
  schema: OutputSchema<T>,
  options: SelfCorrectOptions = {},
): Promise<Corrected<T>> {
  const { maxAttempts = 3, ...validation } = options;
  let correction: OutputError | null = null;
  for (let attempt = 1; ; attempt++) {
    const result: ValidatedOutput<T> = await validateOutput(await ask(correction), schema, validation);
    if (result.ok || attempt >= maxAttempts) return { ...result, attempts: attempt };
    correction = result.error;
  }
}
