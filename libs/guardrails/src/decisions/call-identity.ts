import { canonicalJson, contentHash, type DecisionRequest, sha256Hex } from '@agentlens/contracts';

/** Identifies a call, and retries of a question about it. */
export interface CallIdentity {
  readonly decisionId: string;
  readonly argsHash: string;
  /** Present after a call. */
  readonly resultHash?: string;
  /** Key of the call in its run's history. */
  readonly callKey: string;
  /** Name of the question, the same on every retry. Absent if the client sends nothing to derive it from. */
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
 * Names of the questions about the same call in its other phase, with its original arguments or with the modified ones.
 */
export function otherQuestions(request: DecisionRequest, identity: CallIdentity, modifiedArgs?: unknown): string[] {
  const other = request.phase === 'tool.before' ? 'tool.after' : 'tool.before';
  const modified =
    modifiedArgs === undefined ? undefined : callKeyOf(request, contentHash({ args: modifiedArgs }, 'args'));
  return [identity.callKey, ...(modified === undefined ? [] : [modified])].map((key) => questionName(other, key));
}

/**
 * Derives the key from the call id, tool and arguments, because frameworks reuse one id for several calls, even
 * concurrent ones. Without a call id, a request with the same request id is the same call.
 */
function callKeyOf({ callId, requestId, tool }: DecisionRequest, argsHash: string): string | undefined {
  const given = callId === undefined ? requestId : `call ${callId}`;
  return given === undefined ? undefined : sha256Hex(canonicalJson([given, tool?.name ?? null, argsHash]));
}

function questionName(phase: DecisionRequest['phase'], callKey: string): string {
  return `${phase}#${callKey}`;
}
