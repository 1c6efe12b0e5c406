import type { ModelRefusal } from '@agentlens/model-api';

/** Why an exchange with a provider was ended from here. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  readonly refusal: ModelRefusal;

  constructor(refusal: ModelRefusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}
