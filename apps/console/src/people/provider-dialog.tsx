import { useState } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { IdentityProvider, ProviderBody } from '../api/model.ts';
import { Dialog, EditActs } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { useDialogChange } from '../ui/use-dialog-change.ts';
import { claimText, draftFrom, KINDS, type MappingLine, readClaim } from './provider-draft.ts';
import { RoleField, TeamField } from './roles.tsx';
import { ifVersion, useTeams } from './use-people.ts';

const FIRST = KINDS[0];
const NEW: ProviderBody = {
  name: '',
  issuer: '',
  clientId: '',
  scopes: 'openid profile email',
  mapping: [{ claim: FIRST?.claim ?? 'groups', is: FIRST?.is ?? '', role: 'admin' }],
  sessionHours: 12,
  idleHours: 8,
};
const FIELDS = [
  'name',
  'issuer',
  'clientId',
  'clientSecret',
  'scopes',
  'mapping',
  'require',
  'sessionHours',
  'idleHours',
];

/** Creates a provider or replaces its settings. */
export function ProviderDialog({ provider, onClose }: { provider: IdentityProvider | undefined; onClose: () => void }) {
  const { act, rejection } = useDialogChange(onClose);
  const [draft, setDraft] = useState<ProviderBody>(provider === undefined ? NEW : draftFrom(provider));
  const [kindId, setKindId] = useState(FIRST?.id ?? '');
  const kind = KINDS.find(({ id }) => id === kindId);
  const set = (change: Partial<ProviderBody>) => setDraft({ ...draft, ...change });
  const save = () =>
    act('Provider saved. Test the sign-in before people use it.', () =>
      provider === undefined
        ? client.createIdentityProvider({ body: draft })
        : client.updateIdentityProvider({
            params: { id: provider.id },
            headers: ifVersion(provider.version),
            body: draft,
          }),
    );
  const text = (
    field: 'name' | 'issuer' | 'clientId' | 'scopes',
    label: string,
    hint?: string,
    placeholder?: string,
  ) => (
    <Field label={label} wrong={rejection.at(field)} hint={hint}>
      {(input) => (
        <input
          {...input}
          value={draft[field] ?? ''}
          placeholder={placeholder}
          maxLength={500}
          onChange={(event) => set({ [field]: event.target.value })}
        />
      )}
    </Field>
  );
  const hours = (field: 'sessionHours' | 'idleHours', label: string) => (
    <Field label={label} wrong={rejection.at(field)}>
      {(input) => (
        <input
          {...input}
          type="number"
          min={field === 'idleHours' ? 0.25 : 1}
          max={168}
          step="any"
          value={draft[field] ?? ''}
          onChange={(event) => set({ [field]: event.target.valueAsNumber })}
        />
      )}
    </Field>
  );
  return (
    <Dialog
      title={provider === undefined ? 'New sign-in provider' : visibleName(provider.name)}
      open
      wide
      onClose={onClose}
      acts={
        <EditActs
          save="Save provider"
          onSave={() => void save()}
          onClose={onClose}
          remove={
            provider && {
              text: 'Delete provider',
              onPress: () =>
                void act('Provider deleted', () => client.deleteIdentityProvider({ params: { id: provider.id } })),
            }
          }
        />
      }
    >
      <div className="kd">
        {provider === undefined && (
          <Field
            label="Kind"
            wrong={undefined}
            hint={`${kind?.hint ?? ''} Register <AGENTLENS_PUBLIC_URL>/api/auth/oidc/callback there as redirect address.`}
          >
            {(input) => (
              <select
                {...input}
                value={kindId}
                onChange={(event) => {
                  const next = KINDS.find(({ id }) => id === event.target.value);
                  setKindId(event.target.value);
                  if (next !== undefined) set({ mapping: [{ claim: next.claim, is: next.is, role: 'admin' }] });
                }}
              >
                {KINDS.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
        {text('name', 'Name', 'On the sign-in button: “Continue with …”.')}
        {text('issuer', 'Issuer', 'Not the address of its discovery document.', kind?.issuer)}
        <div className="pair">
          {text('clientId', 'Client id')}
          <Field
            label="Client secret"
            wrong={rejection.at('clientSecret')}
            hint={
              provider?.hasSecret === true ? 'Stored. Leave it empty to keep it.' : 'Stored sealed, never shown again.'
            }
          >
            {(input) => (
              <input
                {...input}
                type="password"
                autoComplete="off"
                value={draft.clientSecret ?? ''}
                onChange={({ target: { value } }) => {
                  const { clientSecret: _, ...rest } = draft;
                  setDraft(value === '' ? rest : { ...rest, clientSecret: value });
                }}
              />
            )}
          </Field>
        </div>
        <Mapping
          lines={draft.mapping ?? []}
          wrong={rejection.at('mapping')}
          onChange={(mapping) => set({ mapping: [...mapping] })}
        />
        <Requirements
          lines={draft.require ?? []}
          wrong={rejection.at('require')}
          onChange={(require) => set({ require: [...require] })}
        />
        <div className="pair">
          <div className="field">
            <span className="lab">People whom no line matches</span>
            <RoleField
              label="People whom no line matches"
              none="may not sign in"
              value={draft.defaultRole ?? ''}
              onChange={(role) => {
                const { defaultRole: _, ...rest } = draft;
                setDraft(role === undefined ? rest : { ...rest, defaultRole: role });
              }}
            />
          </div>
          {text('scopes', 'Scopes')}
        </div>
        <div className="pair">
          {hours('sessionHours', 'Hours until a sign-in ends')}
          {hours('idleHours', 'Hours without a request')}
        </div>
        <label className="row">
          <input
            type="checkbox"
            checked={draft.enabled !== false}
            onChange={(event) => set({ enabled: event.target.checked })}
          />
          <span>Enabled. If you disable it, its sessions end.</span>
        </label>
        <FailureLine>{rejection.besides(...FIELDS)}</FailureLine>
      </div>
    </Dialog>
  );
}

interface LinesProps<L> {
  readonly lines: readonly L[];
  readonly wrong: string | undefined;
  readonly onChange: (lines: readonly L[]) => void;
}

/** A list with one line changed, or removed. */
function replaced<L>(lines: readonly L[], at: number, line: L | undefined): readonly L[] {
  return lines.flatMap((one, index) => (index === at ? (line === undefined ? [] : [line]) : [one]));
}

/** From claims to roles and teams. Every line that matches applies. */
function Mapping({ lines, wrong, onChange }: LinesProps<MappingLine>) {
  const teams = useTeams().data?.teams ?? [];
  const change = (at: number, line: MappingLine | undefined) => onChange(replaced(lines, at, line));
  return (
    <fieldset className="rds">
      <legend className="lab">Roles and teams from claims</legend>
      <div className="lines">
        {lines.map((line, at) => {
          const { role, team, ...match } = line;
          const given = (next: Pick<MappingLine, 'role' | 'team'>): MappingLine => ({
            ...match,
            ...(next.role === undefined ? {} : { role: next.role }),
            ...(next.team === undefined ? {} : { team: next.team }),
          });
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: two lines can be equal while they are edited
            <div key={at} className="line">
              <input
                className="in mono"
                aria-label="Claim"
                placeholder="groups"
                value={claimText(line.claim)}
                onChange={(event) => change(at, { ...line, claim: readClaim(event.target.value) })}
              />
              <input
                className="in mono"
                aria-label="Equals"
                placeholder="a value"
                value={line.is}
                onChange={(event) => change(at, { ...line, is: event.target.value })}
              />
              <RoleField
                label="Role"
                none="no role"
                value={role ?? ''}
                onChange={(next) => change(at, given({ role: next, team }))}
              />
              <TeamField
                label="Team"
                none={role === undefined ? 'no team' : 'all agents'}
                value={team ?? ''}
                teams={teams}
                onChange={(next) => change(at, given({ role, team: next }))}
              />
              <button
                type="button"
                className="b quiet ico"
                aria-label="Remove this line"
                onClick={() => change(at, undefined)}
              >
                <Icon name="x" size={14} />
              </button>
            </div>
          );
        })}
      </div>
      <div className="btns topped">
        <button
          type="button"
          className="b sm"
          onClick={() => onChange([...lines, { claim: lines.at(-1)?.claim ?? 'groups', is: '', role: 'approver' }])}
        >
          Add a line
        </button>
        <span className="hint">Compared exactly. A nested claim is a list of keys: ["realm_access","roles"].</span>
      </div>
      {wrong !== undefined && (
        <p className="hint bad" role="alert">
          {wrong}
        </p>
      )}
    </fieldset>
  );
}

type Requirement = NonNullable<ProviderBody['require']>[number];

/** Claims that an account must have before it may sign in. */
function Requirements({ lines, wrong, onChange }: LinesProps<Requirement>) {
  return (
    <fieldset className="rds">
      <legend className="lab">Only accounts with</legend>
      <div className="lines">
        {lines.map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two lines can be equal while they are edited
          <div key={at} className="line grant">
            <input
              className="in mono"
              aria-label="Required claim"
              placeholder="hd"
              value={claimText(line.claim)}
              onChange={(event) => onChange(replaced(lines, at, { ...line, claim: readClaim(event.target.value) }))}
            />
            <input
              className="in mono"
              aria-label="One of"
              placeholder="example.com, example.org"
              value={line.in.join(', ')}
              onChange={(event) =>
                onChange(
                  replaced(lines, at, { ...line, in: event.target.value.split(',').map((one) => one.trimStart()) }),
                )
              }
            />
            <button
              type="button"
              className="b quiet ico"
              aria-label="Remove this requirement"
              onClick={() => onChange(replaced(lines, at, undefined))}
            >
              <Icon name="x" size={14} />
            </button>
          </div>
        ))}
      </div>
      <div className="btns topped">
        <button type="button" className="b sm" onClick={() => onChange([...lines, { claim: 'hd', in: [''] }])}>
          Require a claim
        </button>
      </div>
      {wrong !== undefined && (
        <p className="hint bad" role="alert">
          {wrong}
        </p>
      )}
    </fieldset>
  );
}
