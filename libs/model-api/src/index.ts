export { readConversation } from './conversation.ts';
export { FrameScanner, ProviderFrame } from './frame-scanner.ts';
export {
  type Endpoint,
  findEndpoint,
  findProviderCall,
  type GatewayPath,
  pickQuery,
  readGatewayPath,
  SERVED,
} from './gateway-path.ts';
export type { AddressedModel } from './gemini.ts';
export { AnswerMeter, type MeteredAnswer, type UsageSource } from './meter.ts';
export type { ModelApi, ModelDialect, ModelRequest } from './model-dialect.ts';
export type { ModelUsage } from './model-usage.ts';
export {
  findClient,
  isForwardable,
  type KnownClient,
  pickAnswerHeaders,
  pickRequestHeaders,
} from './provider-headers.ts';
export { type ReadModelRequest, readModelRequest } from './read-request.ts';
export {
  type ModelRefusal,
  REFUSALS,
  type RefusalKind,
  type StreamProgress,
  type WrittenRefusal,
  writeRefusal,
  writeStopFrame,
} from './refusals.ts';
export {
  type JsonMember,
  readMember,
  type ScannedObject,
  scanObject,
  spliceMember,
  UnreadableObject,
} from './scan-object.ts';
export { type AnswerScript, writeStreamedAnswer, writeWholeAnswer } from './scripted-answer.ts';
export { HeldAnswer } from './tools/held-answer.ts';
export type { AnsweredCall, ToolVerdict, ToolVerdicts } from './tools/tool-call.ts';
export { readToolResults, type ToolResult } from './tools/tool-results.ts';
export { mayHoldCalls, readWholeAnswer, type WholeAnswer } from './tools/whole-answer.ts';
