export { type AgentMetrics, metricsOf, type ToolMetrics } from './metrics.ts';
export { type TraceOptions, traceTo } from './trace-to.ts';
