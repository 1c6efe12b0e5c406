import { runService } from '@agentlens/platform';
import { QueryModule } from './query.module.ts';

await runService('query', QueryModule);
