/** The name of this service in the outbox. Its relay sends only entries with this name. */
export const WRITER = 'guardrail-evaluator';
