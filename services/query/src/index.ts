export { openApiDocument } from './openapi/openapi-document.ts';
export { QueryModule } from './query.module.ts';
export { SignInCodes } from './session/sign-in-codes.ts';
