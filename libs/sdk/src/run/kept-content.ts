import { sha256Hex } from '@agentlens/contracts/sha256';
import { isSecretName } from '@agentlens/guardrails/detectors';
import { redact } from '../redact/redact.ts';
import { clip, safeJson } from '../wire/safe-json.ts';

/** Characters of JSON that an event keeps of one content. */
const MOST_CHARS = 16_000;
const START_CHARS = 4_000;
/** More than this is not looked through: the agent would wait for it. */
const MOST_LOOKED_THROUGH = 200_000;

/**
 * What an event keeps of the arguments or the result of a call: the whole, redacted, under `name`; or under `…Cut` how long
 * its JSON is, and how the redacted one begins with its SHA-256.
 */
export function keptContent(name: 'arguments' | 'result', value: unknown): Record<string, unknown> {
  if (value === undefined) return {};
  const json = safeJson(value);
  if (json.length > MOST_LOOKED_THROUGH) return { [`${name}Cut`]: { chars: json.length } };
  const redacted = redacting(JSON.parse(json));
  const text = JSON.stringify(redacted);
  if (text.length <= MOST_CHARS) return { [name]: redacted };
  return { [`${name}Cut`]: { chars: json.length, start: clip(text, START_CHARS), sha256: sha256Hex(text) } };
}

/** Of plain JSON: what the detectors know, and what is called a secret. */
function redacting(value: unknown): unknown {
  if (typeof value === 'string') return redact(value).text;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(redacting);
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      isSecretName(key) && member !== null ? '[secret]' : redacting(member),
    ]),
  );
}
