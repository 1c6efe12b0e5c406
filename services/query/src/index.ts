export { openApiDocument } from './openapi/openapi-document.ts';
export { OPERATIONS, QUERY_OPERATIONS } from './openapi/operations.ts';
export { QueryModule } from './query.module.ts';
