import type { Decision, DecisionRequest } from '@agentlens/contracts';
import { redactDeep } from '@agentlens/guardrails/redact';

/**
 * Maximum length of the JSON text of arguments. Larger arguments are in the events of the run, and sealed with
 * approvals.
 */
const MAX_CHARS = 8_192;
const START_CHARS = 2_000;

/** The arguments stored with a decision: redacted, or nothing if the tenant does not store arguments. */
export function keptArguments({
  args,
  keepsArguments,
}: Pick<DecisionRequest, 'args' | 'keepsArguments'>): Pick<Decision, 'arguments' | 'argumentsCut'> {
  if (keepsArguments !== true || args === undefined) return {};
  const redacted = redactDeep(args);
  const text = JSON.stringify(redacted);
  if (text.length <= MAX_CHARS) return { arguments: redacted };
  return { argumentsCut: { start: text.slice(0, START_CHARS).toWellFormed(), bytes: Buffer.byteLength(text) } };
}
