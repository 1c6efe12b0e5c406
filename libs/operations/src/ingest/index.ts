export * from './agent-protocol.operations.ts';
export * from './events.operations.ts';
