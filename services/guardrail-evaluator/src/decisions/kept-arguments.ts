import type { Decision, DecisionRequest } from '@agentlens/contracts';
import { redactDeep } from '@agentlens/guardrails';

/** Of the JSON text of arguments. What is larger is in the events of the run, and sealed beside approvals. */
const MOST_CHARS = 8_192;
const START_CHARS = 2_000;

/** What a decision keeps of the arguments of its call: redacted, or nothing where the tenant wants none. */
export function keptArguments({
  args,
  keepsArguments,
}: Pick<DecisionRequest, 'args' | 'keepsArguments'>): Pick<Decision, 'arguments' | 'argumentsCut'> {
  if (keepsArguments !== true || args === undefined) return {};
  const redacted = redactDeep(args);
  const text = JSON.stringify(redacted);
  if (text.length <= MOST_CHARS) return { arguments: redacted };
  return { argumentsCut: { start: text.slice(0, START_CHARS).toWellFormed(), bytes: Buffer.byteLength(text) } };
}
