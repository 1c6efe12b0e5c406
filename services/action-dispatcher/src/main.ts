import { runService } from '@agentlens/platform';
import { ActionDispatcherModule } from './action-dispatcher.module.ts';

await runService('action-dispatcher', ActionDispatcherModule);
