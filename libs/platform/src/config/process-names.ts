export type ServiceName =
  | 'ingest'
  | 'run-tracking'
  | 'guardrail-evaluator'
  | 'action-dispatcher'
  | 'backtester'
  | 'query';

export type ProcessName = ServiceName | 'standalone' | 'setup';
