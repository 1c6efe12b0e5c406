import type { Decision } from '@agentlens/contracts';

/** Why a call was refused, for the client, and where to look it up: `Not today. Decision 01a2.` */
export function describeDecision({ message, id }: Pick<Decision, 'message' | 'id'>): string {
  return `${message.replace(/\.$/, '')}. Decision ${id}.`;
}

/** Whether something is blocked because it could not be decided in time, not because of a decision. */
export function wasUndecided({ verdict, bypasses }: Pick<Decision, 'verdict' | 'bypasses'>): boolean {
  return verdict === 'BLOCK' && bypasses.some(({ did, why }) => did === 'block' && why !== 'missing');
}
