export { type AgentMetrics, metricsOf, type ToolMetrics, type TraceOptions, traceTo } from './metrics.ts';
