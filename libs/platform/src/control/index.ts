export { ControlBoard } from './control-board.ts';
export {
  advance,
  type ControlItem,
  type ControlPosition,
  formatPosition,
  NOTHING_TOLD,
  parsePosition,
} from './control-item.ts';
export { type ControlState, controlStateMessage, graver } from './control-state.ts';
export { type ControlReader, ControlTables } from './control-tables.ts';
