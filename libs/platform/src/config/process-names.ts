export type ServiceName =
  | 'ingest'
  | 'run-tracking'
  | 'guardrail-evaluator'
  | 'action-dispatcher'
  | 'backtester'
  | 'query'
  | 'model-gateway';

export type ProcessName = ServiceName | 'standalone' | 'setup';
