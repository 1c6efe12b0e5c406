export { openApiDocument } from './openapi/openapi-document.ts';
export { QueryModule } from './query.module.ts';
