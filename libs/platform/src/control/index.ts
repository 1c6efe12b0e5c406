export { ControlBoard, type ControlReader, ControlTables } from './control-board.ts';
export {
  advance,
  type ControlItem,
  type ControlPosition,
  formatPosition,
  parsePosition,
  START_POSITION,
} from './control-item.ts';
export { type ControlState, controlStateMessage, stateOfRun } from './control-state.ts';
