export {
  type Answerer,
  type AskedQuestion,
  allow,
  block,
  modify,
  needApproval,
  type ScriptedAnswer,
  type TestRule,
  terminate,
} from './answers.ts';
export type { TestApproval, TestApprovals } from './approvals.ts';
export type { ControlEndpoint, ReceivedAcknowledgement } from './control-endpoint.ts';
export { settle, TestClock, testIds } from './test-clock.ts';
export {
  type Failure,
  type RecordedCall,
  type RecordedEvent,
  type RecordedRun,
  TestPlatform,
} from './test-server.ts';
