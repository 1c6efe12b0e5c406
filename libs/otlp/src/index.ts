export { exportAnswer, type OtlpFormat, type OtlpSignal, type PartialSuccess, statusAnswer } from './answers.ts';
export type { Generation, SpanClass } from './classify.ts';
export { logsFromJson, tracesFromJson } from './from-json.ts';
export { logsFromProtobuf, tracesFromProtobuf } from './from-protobuf.ts';
export { evaluationOf, LogCollector, type OtlpLogRecord } from './logs.ts';
export type { ContentMode } from './messages.ts';
export { hasTokens, isSameCall, isSameSpan, type TracedCall } from './same-call.ts';
export { type OtlpSpan, type OtlpTraces, UndecodableOtlp } from './span.ts';
export {
  type CountedCall,
  isOfAgent,
  type OtlpContext,
  type ReadSpan,
  readSpan,
  tracedCall,
  translateSpan,
} from './translate.ts';
export { findUsageGaps } from './usage-sources.ts';
export { agentOf } from './who.ts';
export { OTLP_LIMITS, TooMuchOtlp } from './work.ts';
