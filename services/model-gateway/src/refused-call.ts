import type { ModelRefusal, RefusalKind } from '@agentlens/model-api';

/** A call that the gateway answers itself. The message is for the client and never quotes what it sent. */
export class RefusedCall extends Error {
  override readonly name = 'RefusedCall';
  readonly refusal: ModelRefusal;
  /** Id of the decision, if one was made. */
  readonly decisionId: string | undefined;

  constructor(kind: RefusalKind, code: string, message: string, decisionId?: string) {
    super(message);
    this.refusal = { kind, code, message };
    this.decisionId = decisionId;
  }
}
