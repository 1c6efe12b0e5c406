import { client } from '../api/client.ts';
import { useRead } from '../live-data/live-store.ts';

export function usePeople(enabled = true) {
  return useRead(['people'], (signal) => client.listPeople({ signal }), enabled);
}

export function useTeams() {
  return useRead(['teams'], (signal) => client.listTeams({ signal }));
}

export function useOnCall() {
  return useRead(['on-call'], (signal) => client.listOnCall({ signal }));
}

export function useProviders(enabled = true) {
  return useRead(['providers'], (signal) => client.listIdentityProviders({ signal }), enabled);
}

/** Header that refuses a change of another version than the one that is shown. */
export function ifVersion(version: number | undefined): Record<string, string> {
  return version === undefined ? {} : { 'if-match': `"${version}"` };
}
