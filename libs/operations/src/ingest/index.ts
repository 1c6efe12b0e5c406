export * from './agent-protocol.operations.ts';
export * from './events.operations.ts';
export * from './idempotency-headers.ts';
export * from './otlp.operations.ts';
