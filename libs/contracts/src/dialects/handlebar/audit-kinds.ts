import { EVENT_KINDS, type EventKind } from '../../events.ts';

/** Maps the client's kinds to the platform's. */
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

/** Kinds that only the platform creates. A client that could send them could forge a registration. */
const NEVER_SENT: readonly EventKind[] = ['agent.registered'];

/**
 * Accepts the platform's own kinds by name, too. Keeps any other kind as `custom.recorded`: a newer client may know
 * more kinds than this server, and its events still belong to the run.
 */
export function kindOf(kind: string): EventKind {
  if (Object.hasOwn(AUDIT_KINDS, kind)) return AUDIT_KINDS[kind as AuditKind];
  const own = EVENT_KINDS.find((name) => name === kind);
  return own === undefined || NEVER_SENT.includes(own) ? 'custom.recorded' : own;
}

/** Returns true if the server knows the kind. */
export function isKnownKind(kind: string): boolean {
  return kindOf(kind) !== 'custom.recorded' || kind === 'custom.recorded';
}
