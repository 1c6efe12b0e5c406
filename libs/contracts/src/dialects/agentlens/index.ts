export { EVENT_TYPE_NAMES, type EventTypeName, SERVER_ONLY_TYPES } from './event-types.ts';
export { timeOfId } from './id-time.ts';
export { type TranslatedEvent, type Translation, translateAgentLensEvent } from './translate.ts';
