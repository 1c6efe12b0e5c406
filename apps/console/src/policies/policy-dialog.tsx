import { useState } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { StoredPolicy } from '../api/model.ts';
import { words } from '../people/team-dialog.tsx';
import { ifVersion, useOnCall, usePeople, useTeams } from '../people/use-people.ts';
import { Dialog, EditActs } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { Note } from '../ui/section.tsx';
import { useDialogChange } from '../ui/use-dialog-change.ts';
import { countNamed, type Policy, SEPARATIONS, WAYS } from './policy-text.ts';

const NEW: Policy = {
  name: '',
  match: { tools: [], agents: [], rules: [] },
  approvers: { teams: [], people: [], anyone: false },
  quorum: 1,
  separation: 'starter',
  via: ['console'],
  mode: 'enforce',
};
const FIELDS = [
  'params.id',
  'policy.name',
  'policy.match.tools',
  'policy.match.agents',
  'policy.approvers',
  'policy.via',
  'place',
];

interface PolicyDialogProps {
  readonly stored: StoredPolicy | undefined;
  readonly nextPlace: number;
  readonly onClose: () => void;
}

/** Creates a policy or replaces it. Open approvals keep the policy that they were opened with. */
export function PolicyDialog({ stored, nextPlace, onClose }: PolicyDialogProps) {
  const { act, rejection } = useDialogChange(onClose);
  const teams = useTeams().data?.teams ?? [];
  const schedules = useOnCall().data?.schedules ?? [];
  const people = usePeople().data?.people ?? [];
  const [id, setId] = useState(stored?.id ?? '');
  const [place, setPlace] = useState(stored?.place ?? nextPlace);
  const [policy, setPolicy] = useState<Policy>(stored?.policy ?? NEW);
  const [tools, setTools] = useState(policy.match.tools.join(' '));
  const [agents, setAgents] = useState(policy.match.agents.join(' '));
  const set = (change: Partial<Policy>) => setPolicy({ ...policy, ...change });
  const { approvers, quorum, separation, via, freshSignInSeconds, mode } = policy;
  const named = countNamed(policy, teams, schedules);
  const save = () =>
    act('Policy saved. It applies to approvals that open from now on.', () =>
      client.setApprovalPolicy({
        params: { id: id.trim() },
        headers: ifVersion(stored?.version),
        body: { place, policy: { ...policy, match: { ...policy.match, tools: words(tools), agents: words(agents) } } },
      }),
    );
  const isReady = id.trim() !== '' && policy.name.trim() !== '';
  return (
    <Dialog
      title={stored === undefined ? 'New approval policy' : visibleName(stored.policy.name)}
      open
      wide
      onClose={onClose}
      acts={
        <EditActs
          save="Save policy"
          isReady={isReady}
          onSave={() => void save()}
          onClose={onClose}
          remove={
            stored && {
              text: 'Delete policy',
              onPress: () =>
                void act('Policy deleted. Open approvals keep it.', () =>
                  client.deleteApprovalPolicy({ params: { id: stored.id }, headers: ifVersion(stored.version) }),
                ),
            }
          }
        />
      }
    >
      <div className="kd">
        <div className="pair">
          <Field label="Id" wrong={rejection.at('params.id')}>
            {(input) => (
              <input
                {...input}
                value={id}
                disabled={stored !== undefined}
                maxLength={40}
                placeholder="payments"
                onChange={(event) => setId(event.target.value)}
              />
            )}
          </Field>
          <Field label="Name" wrong={rejection.at('policy.name')}>
            {(input) => (
              <input
                {...input}
                value={policy.name}
                maxLength={100}
                placeholder="Payments"
                onChange={(event) => set({ name: event.target.value })}
              />
            )}
          </Field>
        </div>
        <div className="pair">
          <Field label="Tools" wrong={rejection.at('policy.match.tools')} hint="Patterns with *. Empty: every tool.">
            {(input) => (
              <input
                {...input}
                className={`${input.className} mono`}
                value={tools}
                placeholder="pay_*"
                onChange={(event) => setTools(event.target.value)}
              />
            )}
          </Field>
          <Field label="Agents" wrong={rejection.at('policy.match.agents')} hint="Empty: every agent.">
            {(input) => (
              <input
                {...input}
                className={`${input.className} mono`}
                value={agents}
                placeholder="billing-*"
                onChange={(event) => setAgents(event.target.value)}
              />
            )}
          </Field>
        </div>
        <fieldset className="rds">
          <legend className="lab">Who decides</legend>
          <Check
            text="Everyone who may review"
            checked={approvers.anyone}
            onChange={(anyone) => set({ approvers: { ...approvers, anyone } })}
          />
          {!approvers.anyone && (
            <>
              {teams.map((team) => (
                <Check
                  key={team.id}
                  text={`Team ${visibleName(team.name)}`}
                  note={team.members.map(({ name }) => visibleName(name)).join(', ')}
                  checked={approvers.teams.includes(team.id)}
                  onChange={() => set({ approvers: { ...approvers, teams: toggled(approvers.teams, team.id) } })}
                />
              ))}
              {schedules.map((schedule) => (
                <Check
                  key={schedule.id}
                  text={`On call: ${visibleName(schedule.name)}`}
                  note={`now ${visibleName(schedule.onCall.name ?? schedule.onCall.person ?? 'no person')}`}
                  checked={approvers.onCall?.includes(schedule.id) === true}
                  onChange={() => set({ approvers: withOnCall(approvers, schedule.id) })}
                />
              ))}
              {people.map((person) => (
                <Check
                  key={person.id}
                  text={visibleName(person.name)}
                  note={person.email ?? ''}
                  checked={approvers.people.includes(person.id)}
                  onChange={() => set({ approvers: { ...approvers, people: toggled(approvers.people, person.id) } })}
                />
              ))}
            </>
          )}
          {rejection.at('policy.approvers') !== undefined && (
            <p className="hint bad" role="alert">
              {rejection.at('policy.approvers')}
            </p>
          )}
        </fieldset>
        <div className="pair">
          <Field label="How many must approve" wrong={undefined} hint="One denial decides.">
            {(input) => (
              <select {...input} value={quorum} onChange={(event) => set({ quorum: Number(event.target.value) })}>
                {[1, 2, 3, 4, 5].map((count) => (
                  <option key={count} value={count}>
                    {count === 1 ? '1 person' : `${count} people`}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Who may not" wrong={undefined}>
            {(input) => (
              <select
                {...input}
                value={separation}
                onChange={(event) =>
                  set({ separation: SEPARATIONS.find(([one]) => one === event.target.value)?.[0] ?? 'none' })
                }
              >
                {SEPARATIONS.map(([one, text]) => (
                  <option key={one} value={one}>
                    {text}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
        {named !== undefined && named < quorum && (
          <Note tone="warn" icon={<Icon name="warnt" size={14} />}>
            {named === 0 ? 'No person is' : `Only ${named} ${named === 1 ? 'person is' : 'people are'}`} named today, so
            approvals under this policy would expire as denials.
          </Note>
        )}
        <fieldset className="rds">
          <legend className="lab">Votes are accepted in</legend>
          <div className="row wrap">
            {WAYS.map(([way, text]) => (
              <Check
                key={way}
                text={text}
                checked={via.includes(way)}
                onChange={() =>
                  set({ via: WAYS.map(([one]) => one).filter((one) => (one === way) !== via.includes(one)) })
                }
              />
            ))}
          </div>
          <p className="hint">Programs on a machine can read the personal key of its command line.</p>
        </fieldset>
        <div className="pair">
          <Field label="Sign-in younger than" wrong={undefined}>
            {(input) => (
              <select
                {...input}
                value={freshSignInSeconds ?? ''}
                onChange={({ target: { value } }) => {
                  const { freshSignInSeconds: _, ...rest } = policy;
                  setPolicy(value === '' ? rest : { ...rest, freshSignInSeconds: Number(value) });
                }}
              >
                <option value="">any sign-in</option>
                {[...new Set([300, 900, 3_600, freshSignInSeconds ?? 300])]
                  .sort((a, b) => a - b)
                  .map((seconds) => (
                    <option key={seconds} value={seconds}>
                      {seconds / 60} minutes
                    </option>
                  ))}
              </select>
            )}
          </Field>
          <Field label="Place" wrong={rejection.at('place')} hint="Lower places match first.">
            {(input) => (
              <input
                {...input}
                type="number"
                min={0}
                max={10_000}
                value={Number.isNaN(place) ? '' : place}
                onChange={(event) => setPlace(event.target.valueAsNumber)}
              />
            )}
          </Field>
        </div>
        <Check
          text="Report only: record what would be refused, and refuse nothing"
          checked={mode === 'report'}
          onChange={(isReport) => set({ mode: isReport ? 'report' : 'enforce' })}
        />
        <FailureLine>{rejection.besides(...FIELDS)}</FailureLine>
      </div>
    </Dialog>
  );
}

function toggled(values: readonly string[], value: string): string[] {
  return values.includes(value) ? values.filter((one) => one !== value) : [...values, value];
}

interface CheckProps {
  readonly text: string;
  readonly note?: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

function Check({ text, note = '', checked, onChange }: CheckProps) {
  return (
    <label className="row">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      <span>
        {text} <span className="t3">{note}</span>
      </span>
    </label>
  );
}

/** A policy without schedules has no list of them. */
function withOnCall({ onCall = [], ...others }: Policy['approvers'], schedule: string): Policy['approvers'] {
  const left = toggled(onCall, schedule);
  return left.length === 0 ? others : { ...others, onCall: left };
}
