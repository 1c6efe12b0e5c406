export { IngestModule } from './ingest.module.ts';
