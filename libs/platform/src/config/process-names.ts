export type ServiceName = 'ingest' | 'run-tracking' | 'guardrail-evaluator' | 'action-dispatcher' | 'query';

export type ProcessName = ServiceName | 'standalone' | 'setup';
