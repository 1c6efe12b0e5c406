import { createContext, type ReactNode, useContext } from 'react';
import type { Me } from '../api/model.ts';

const MeContext = createContext<Me | undefined>(undefined);

export function MeProvider({ me, children }: { me: Me; children: ReactNode }) {
  return <MeContext value={me}>{children}</MeContext>;
}

export function useMe(): Me {
  const me = useContext(MeContext);
  if (me === undefined) throw new Error('No session');
  return me;
}

export type Scope = Me['scopes'][number];

/** Whether the key has a scope, and the reason if it does not. */
export function useMay(scope: Scope): { readonly may: boolean; readonly why: string | undefined } {
  const { scopes } = useMe();
  const may = scopes.includes('admin') || scopes.includes(scope);
  return { may, why: may ? undefined : `Needs a key with the scope ${scope}` };
}
