export * from './agent-protocol.operations.ts';
export * from './events.operations.ts';
export * from './otlp.operations.ts';
