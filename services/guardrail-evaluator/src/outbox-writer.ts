/** Names this service in the outbox: its relay sends only what it wrote. */
export const WRITER = 'guardrail-evaluator';
