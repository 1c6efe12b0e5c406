export { ControlBoard, type ControlBoardOptions, type Follower } from './control-board.ts';
export {
  advance,
  type ControlItem,
  type ControlPosition,
  formatPosition,
  NOTHING_TOLD,
  parsePosition,
} from './control-item.ts';
export { type ControlReader, ControlTables } from './control-tables.ts';
export { graver, type ControlState, controlStateMessage } from './control-state.ts';
