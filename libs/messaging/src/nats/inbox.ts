import { subjectToken } from '@agentlens/contracts';

/** Where a connection of this name gets its answers: of its own, so that others cannot listen to what it reads. */
export function inboxOf(name: string): string {
  return `_INBOX.${subjectToken(name)}`;
}
