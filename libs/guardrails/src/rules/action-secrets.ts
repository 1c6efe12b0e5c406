import type { JsonObject } from '@agentlens/contracts';
import { ACTIONS } from '../actions/index.ts';

/** `path` is relative to the action config: `secret`, `headers.authorization`. */
type Change = (text: string, path: string) => string;

/**
 * The config of an action with each of its secrets passed through `change` (to seal, open or mask it); everything else
 * as it is. Of an unknown type every text is a secret.
 */
export function mapActionSecrets(actionType: string, config: JsonObject, change: Change): JsonObject {
  const action = ACTIONS.get(actionType);
  const entries = Object.entries(config).map(([key, value]) =>
    action === undefined || action.secrets.includes(key) ? [key, changed(value, key, change)] : [key, value],
  );
  return Object.fromEntries(entries) as JsonObject;
}

function changed(value: unknown, path: string, change: Change): unknown {
  if (typeof value === 'string') return change(value, path);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, changed(inner, `${path}.${key}`, change)]),
  );
}

const MASK = '***';

/** How a secret is shown: its last four characters, where that still leaves most of it unsaid. */
export function maskSecret(plain: string): string {
  if (plain.startsWith(MASK)) return plain;
  return plain.length >= 12 ? `${MASK}${plain.slice(-4)}` : MASK;
}

/** True for text that can only have come from `maskSecret`. */
export function isMasked(text: string): boolean {
  return text.startsWith(MASK);
}
