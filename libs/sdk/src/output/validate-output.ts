import { jsonrepair } from 'jsonrepair';
import type { Run } from '../run/run.ts';
import { getCurrentRun } from '../run/run-context.ts';
import { parseJson } from '../wire/decision.ts';
import { type JsonCandidate, jsonCandidates } from './json-in-text.ts';
import { type OutputIssue, type OutputSchema, schemaChecker } from './schema.ts';

export interface ValidateOptions {
  /** Accept only the whole answer, unchanged: no fences, no search, no repair. Default false. */
  readonly strict?: boolean;
  /** Repair broken JSON (single quotes, missing ends, trailing commas) if nothing parses. Default true. */
  readonly repair?: boolean;
  /** Records the outcome. Default: the current run, if there is one. */
  readonly run?: Run;
}

/** The model's answer is wrong. This is not a failure of a tool or of the platform, and the model can correct it. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
  readonly type = 'LOGIC';
  readonly reason: 'no_json' | 'schema';
  readonly issues: readonly OutputIssue[];

  constructor(reason: 'no_json' | 'schema', issues: readonly OutputIssue[]) {
    super(reason === 'no_json' ? 'The answer holds no valid JSON.' : 'The answer does not match the schema.');
    this.reason = reason;
    this.issues = issues;
  }

  /** Text for the model: what is wrong, where, and what to do. */
  toPrompt(): string {
    const lines = this.issues.map(({ path, message }) => `- ${path === '' ? 'the whole answer' : path}: ${message}`);
    const what = lines.length === 0 ? '' : `\n${lines.join('\n')}`;
    return `${this.message}${what}\nAnswer again with the corrected JSON only, without any other text.`;
  }
}

export type ValidatedOutput<T> =
  | { readonly ok: true; readonly value: T; readonly repaired: boolean }
  | { readonly ok: false; readonly error: OutputError };

/**
 * Finds the JSON in a model's answer and checks it. The first candidate that matches wins; repaired JSON is marked and
 * also checked. Never throws because of the answer.
 */
export async function validateOutput<T>(
  text: string,
  schema: OutputSchema<T>,
  options: ValidateOptions = {},
): Promise<ValidatedOutput<T>> {
  const { strict = false, repair = true } = options;
  const result = await firstMatch(text, schema, strict, repair && !strict);
  const run = options.run ?? getCurrentRun();
  run?.record('output.validated', {
    outcome: result.ok ? 'valid' : 'invalid',
    ...(result.ok ? { repaired: result.repaired } : { type: 'LOGIC', reason: result.error.reason }),
    ...(result.ok ? {} : { issues: result.error.issues.map(({ path }) => path) }),
  });
  return result;
}

async function firstMatch<T>(
  text: string,
  schema: OutputSchema<T>,
  strict: boolean,
  repair: boolean,
): Promise<ValidatedOutput<T>> {
  const candidates: readonly JsonCandidate[] = strict ? [{ text, from: 'whole' }] : jsonCandidates(text);
  const check = schemaChecker(schema);
  let issues: readonly OutputIssue[] | null = null;
  for (const { value, repaired } of parsed(candidates, repair)) {
    const checked = await check(value);
    if (checked.ok) return { ok: true, value: checked.value, repaired };
    // The most likely candidate has the best error message.
    issues ??= checked.issues;
  }
  return { ok: false, error: issues === null ? new OutputError('no_json', []) : new OutputError('schema', issues) };
}

/** Text that parses unchanged comes first: repair guesses, and can turn prose into a string. */
function* parsed(
  candidates: readonly JsonCandidate[],
  repair: boolean,
): Generator<{ value: unknown; repaired: boolean }> {
  const broken: JsonCandidate[] = [];
  for (const candidate of candidates) {
    const value = parseJson(candidate.text);
    if (value === undefined) broken.push(candidate);
    else yield { value, repaired: false };
  }
  if (!repair) return;
  for (const candidate of broken) {
    if (!/^[[{]/.test(candidate.text)) continue;
    const value = parseJson(repairedJson(candidate.text));
    if (value !== undefined) yield { value, repaired: true };
  }
}

function repairedJson(text: string): string {
  try {
    return jsonrepair(text);
  } catch {
    return '';
  }
}

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
