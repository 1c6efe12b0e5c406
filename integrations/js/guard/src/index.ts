export { HOST_IDS, type HostId } from './hosts/host.ts';
export { HOSTS, isHostId, matchVersion } from './hosts/index.ts';
export {
  type Installation,
  type InstallReport,
  installHost,
  type OffReport,
  stopResident,
  uninstallHost,
} from './install/install.ts';
export { isUnchanged, readInstalled, versionOf } from './install/installed.ts';
export { PROJECT_SWITCHES } from './install/host-files.ts';
export { askResident } from './resident/ask-resident.ts';
export {
  DEFAULT_SETTINGS,
  type GuardConfig,
  type GuardPaths,
  GuardStateError,
  guardPaths,
  type HostSettings,
  Journal,
  readConfig,
  writeConfig,
} from './state.ts';
export { STARTER_RULESET, starterRules } from './starter-rules.ts';
export { type DoctorReport, proveHost } from './doctor/doctor.ts';
export { type AuditReport, auditHost } from './transcripts/audit.ts';
export { writeManaged } from './install/managed.ts';
