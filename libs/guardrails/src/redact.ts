/** Entry point for redacting secrets and personal data; does not load the conditions. */
export { redactDeep } from './detectors/redact-deep.ts';
export { redactJson } from './detectors/redact-json.ts';
