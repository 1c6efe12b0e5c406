import { useEffect, useRef, useState } from 'react';
import { collectEvidence } from '../../../../libs/client/src/collect-evidence.ts';
import { client } from '../api/client.ts';
import { problemText } from '../api/problem.ts';
import { Copy } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { saveFile } from '../ui/save-file.ts';
import { Facts, Note } from '../ui/section.tsx';

type Kind = 'run' | 'decision' | 'approval';
type Evidence = Awaited<ReturnType<typeof client.getRunEvidence>>;

const READ = {
  run: client.getRunEvidence,
  decision: client.getDecisionEvidence,
  approval: client.getApprovalEvidence,
} as const;

/** Opens the proof of a subject: what the log has about it, and the file that a verifier checks without the platform. */
export function ProofButton({ kind, id, className = 'b sm' }: { kind: Kind; id: string; className?: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button type="button" className={className} onClick={() => setIsOpen(true)}>
        <Icon name="check" size={14} />
        Proof
      </button>
      {isOpen && <ProofDialog kind={kind} id={id} onClose={() => setIsOpen(false)} />}
    </>
  );
}

function ProofDialog({ kind, id, onClose }: { kind: Kind; id: string; onClose: () => void }) {
  const [proof, setProof] = useState<Evidence | 'reading'>();
  const [problem, setProblem] = useState<string>();
  const closing = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    closing.current = controller;
    return () => controller.abort();
  }, []);
  const read = async () => {
    const { signal } = closing.current;
    setProof('reading');
    setProblem(undefined);
    try {
      setProof(await collectEvidence(() => READ[kind]({ params: { id }, signal }), signal));
    } catch (error) {
      if (signal.aborted) return;
      setProof(undefined);
      setProblem(problemText(error));
    }
  };
  const name = `evidence-${kind}-${id.slice(0, 40).replaceAll(/[^\w-]/g, '_')}.json`;
  const ready = proof === undefined || proof === 'reading' ? undefined : proof;
  return (
    <Dialog
      title={`Proof of this ${kind}`}
      open
      wide
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Close
          </button>
          {ready === undefined ? (
            <button
              type="button"
              className="b pri"
              aria-disabled={proof === 'reading' || undefined}
              onClick={() => proof === undefined && void read()}
            >
              {proof === 'reading' ? 'Collecting' : 'Collect the evidence'}
            </button>
          ) : (
            <button
              type="button"
              className="b pri"
              onClick={() => saveFile(name, 'application/json', [JSON.stringify(ready)])}
            >
              Download {name.length > 40 ? 'the evidence' : name}
            </button>
          )}
        </>
      }
    >
      <div className="kd">
        {ready === undefined ? (
          <p>
            The log records each decision, approval and order, and signs its growth. The evidence is one file that
            proves what it has about this {kind}. A verifier checks it without this platform.
            {proof === 'reading' && ' The log takes up what just happened within a few seconds.'}
          </p>
        ) : (
          <Contents evidence={ready} name={name} />
        )}
        {problem !== undefined && (
          <Note tone="warn" icon={<Icon name="warnt" size={14} />}>
            {problem}
          </Note>
        )}
      </div>
    </Dialog>
  );
}

function Contents({ evidence, name }: { evidence: Evidence; name: string }) {
  const { entries, checkpoint, made, pending } = evidence;
  const [origin = '', size = ''] = checkpoint.split('\n');
  const positions = entries.map(({ index }) => index);
  const withheld = entries.filter((entry) => entry.withheld !== undefined).length;
  const command = `agentlens-verify bundle ${name} --key "$(cat log.key)"`;
  return (
    <>
      <Facts
        facts={[
          ['Entries', `${entries.length}${withheld === 0 ? '' : `, of which ${withheld} without their content`}`],
          ['Positions', `${Math.min(...positions)} to ${Math.max(...positions)}`],
          ['Checkpoint', `${origin}, size ${size}`],
          ['Signed by', signersOf(checkpoint, origin)],
          ['Collected', made],
        ]}
      />
      {pending > 0 && (
        <Note tone="warn" icon={<Icon name="warnt" size={14} />}>
          {pending === 1 ? '1 newer fact is' : `${pending} newer facts are`} not in this evidence: no checkpoint
          contains {pending === 1 ? 'it' : 'them'} yet.
        </Note>
      )}
      <p className="t2">This page shows what the platform says. Check the file with a key that you got another way:</p>
      <div className="well key-once">
        <code className="mono grow">{command}</code>
        <Copy text={command} quiet={false} />
      </div>
    </>
  );
}

/** Says who signed a checkpoint. The verifier checks it; this page does not. */
function signersOf(checkpoint: string, origin: string): string {
  const names = [...checkpoint.matchAll(/^— (\S+) /gm)].map(([, name = '']) => name);
  const witnesses = [...new Set(names.filter((name) => name !== origin))];
  if (witnesses.length === 0) return 'the operator of this platform only; no witness';
  return `the operator of this platform; witnesses: ${witnesses.join(', ')}`;
}
