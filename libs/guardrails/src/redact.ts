/** Hiding secrets and personal data, without the conditions that ask for them. */
export { redactDeep } from './detectors/redact-deep.ts';
export { redactJson } from './detectors/redact-json.ts';
