import { canonicalJson, contentHash, type DecisionRequest, sha256Hex } from '@agentlens/contracts';

/** What is needed to recognise a call, and a question about it that comes again. */
export interface CallIdentity {
  readonly decisionId: string;
  readonly argsHash: string;
  /** After a call. */
  readonly resultHash?: string;
  /** Names the call in its run's history. */
  readonly callKey: string;
  /** Names the question: the same on every retry. Absent where the client gives nothing to know it by. */
  readonly once?: string;
}

export function identityOf(request: DecisionRequest, decisionId: string): CallIdentity {
  const argsHash = contentHash(request, 'args');
  const callKey = callKeyOf(request, argsHash);
  return {
    decisionId,
    argsHash,
    ...(request.phase === 'tool.after' ? { resultHash: contentHash(request, 'result') } : {}),
    callKey: callKey ?? decisionId,
    ...(callKey === undefined ? {} : { once: questionName(request.phase, callKey) }),
  };
}

/**
 * The names of what was or will be asked about the same call in its other phase, with the arguments it was asked about
 * or with those it was given instead.
 */
export function otherQuestions(request: DecisionRequest, identity: CallIdentity, modifiedArgs?: unknown): string[] {
  const other = request.phase === 'tool.before' ? 'tool.after' : 'tool.before';
  const modified =
    modifiedArgs === undefined ? undefined : callKeyOf(request, contentHash({ args: modifiedArgs }, 'args'));
  return [identity.callKey, ...(modified === undefined ? [] : [modified])].map((key) => questionName(other, key));
}

/**
 * A call is its id and what it is: frameworks use one id for many calls, one after another and side by side. Where there
 * is no id, a request that is sent again is the same call.
 */
function callKeyOf({ callId, requestId, tool }: DecisionRequest, argsHash: string): string | undefined {
  const given = callId === undefined ? requestId : `call ${callId}`;
  return given === undefined ? undefined : sha256Hex(canonicalJson([given, tool?.name ?? null, argsHash]));
}

function questionName(phase: DecisionRequest['phase'], callKey: string): string {
  return `${phase}#${callKey}`;
}
