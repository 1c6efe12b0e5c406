import { runService } from '@agentlens/platform';
import { IngestModule } from './ingest.module.ts';

await runService('ingest', IngestModule);
