import { EVENT_KINDS, type EventKind } from '../../events.ts';

/** The client's vocabulary, in the platform's words. */
export const AUDIT_KINDS = {
  'run.started': 'run.started',
  'message.raw.created': 'message.created',
  'llm.result': 'llm.completed',
  'tool.decision': 'tool.decided',
  'tool.result': 'tool.completed',
  'run.ended': 'run.ended',
  error: 'error.raised',
} as const satisfies Record<string, EventKind>;
type AuditKind = keyof typeof AUDIT_KINDS;

export const AUDIT_KIND_NAMES = Object.keys(AUDIT_KINDS) as readonly AuditKind[];

/** Made by the platform about an agent; a client that could send them could forge a registration. */
const NEVER_SENT: readonly EventKind[] = ['agent.registered'];

/**
 * Our own kinds are taken by their name as well. Anything else is kept as `custom.recorded`: a newer client knows more
 * kinds than this server, and its events are still facts of the run.
 */
export function kindOf(kind: string): EventKind {
  if (Object.hasOwn(AUDIT_KINDS, kind)) return AUDIT_KINDS[kind as AuditKind];
  const own = EVENT_KINDS.find((name) => name === kind);
  return own === undefined || NEVER_SENT.includes(own) ? 'custom.recorded' : own;
}

/** True where the kind means something here beyond "it happened". */
export function isKnownKind(kind: string): boolean {
  return kindOf(kind) !== 'custom.recorded' || kind === 'custom.recorded';
}
