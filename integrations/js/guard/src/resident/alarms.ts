import type { ToolUse } from '../hosts/host.ts';
import { signatureOf } from '../judge/redact.ts';
import { guardedCall } from '../judge/tools.ts';
import type { AskedCall, GuardedSession } from './session.ts';

/** What went wrong, by the name under which it is recorded. */
export const ALARMS = {
  'deny-ignored': 'The host ran a call that was refused',
  'not-asked': 'The host ran a call without asking',
  'call-changed': 'Another hook changed a call after it was decided, and the changed call ran',
  tampered: 'The settings of the host changed during a session',
} as const;

/** Hosts report refusals as failures, so only a successful result is suspicious. */
export function findAlarm(
  session: GuardedSession,
  id: string | undefined,
  sig: string,
  asked: AskedCall | undefined,
): 'deny-ignored' | 'not-asked' | undefined {
  if (id !== undefined) return asked === undefined ? 'not-asked' : asked.answer === 'deny' ? 'deny-ignored' : undefined;
  // Without ids, more results than permissions mean that one of the calls was not allowed.
  if (asked !== undefined || (session.reported.get(sig) ?? 0) <= (session.allowed.get(sig) ?? 0)) return undefined;
  return (session.asked.get(sig) ?? 0) > 0 ? 'deny-ignored' : 'not-asked';
}

/**
 * Whether another call ran than the one that was allowed under this id. Hosts run the hooks of an event at the same time,
 * and a hook of the user may change the arguments after the guard has seen them.
 */
export function ranAnother(asked: AskedCall | undefined, use: ToolUse): boolean {
  if (asked?.answer !== 'allow' || asked.sig === undefined || use.id === undefined) return false;
  if (asked.sig === signatureOf(use.name, use.input)) return false;
  // A host may add members that mean nothing.
  const { tool, args } = guardedCall(use);
  return asked.meaning !== signatureOf(tool, args);
}

export function meaningOf(use: ToolUse): string {
  const { tool, args } = guardedCall(use);
  return signatureOf(tool, args);
}
