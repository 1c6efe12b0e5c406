export { RunTrackingModule } from './run-tracking.module.ts';
