export { encrypted } from './encrypted.ts';
export { type Principal, ROLE_ACTIONS, type RoleAction, type RoleGrants, Roles } from './roles.ts';
export { type KeyProvider, keyFromEnvironment, keyFromFile, type MasterKey, staticKeys } from './sealed.ts';
