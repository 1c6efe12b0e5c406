export {
  type Answerer,
  type AskedQuestion,
  allow,
  block,
  modify,
  needApproval,
  type Said,
  type TestRule,
  terminate,
} from './answers.ts';
export type { TestApproval, TestApprovals } from './approvals.ts';
export type { Acknowledgement, ControlRoom } from './control-room.ts';
export { settle, TestClock, testIds } from './test-clock.ts';
export {
  type Failure,
  type RecordedCall,
  type RecordedEvent,
  type RecordedRun,
  TestServer,
} from './test-server.ts';
