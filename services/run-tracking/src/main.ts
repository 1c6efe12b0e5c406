import { runService } from '@agentlens/platform';
import { RunTrackingModule } from './run-tracking.module.ts';

await runService('run-tracking', RunTrackingModule);
