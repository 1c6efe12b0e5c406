/**
 * Effect of a new decision rule if its facts, or a person, cannot be asked in time. An approval that cannot be requested
 * must not become a yes.
 */
export function defaultOnUnavailable(actionType: string): 'allow' | 'block' {
  return actionType === 'require_approval' ? 'block' : 'allow';
}
