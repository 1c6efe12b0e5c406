import { canonicalJson, type DecisionRequest, sha256Hex } from '@agentlens/contracts';

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
  const { phase, callId, requestId, args, result } = request;
  const argsHash = sha256Hex(canonicalJson(args ?? null));
  const known = callId === undefined ? (requestId === undefined ? undefined : `${requestId}#${argsHash}`) : callId;
  return {
    decisionId,
    argsHash,
    ...(phase === 'tool.after' ? { resultHash: sha256Hex(canonicalJson(result ?? null)) } : {}),
    callKey: known ?? decisionId,
    ...(known === undefined ? {} : { once: `${phase}#${known}` }),
  };
}
