import { setTimeout as wait } from 'node:timers/promises';
import { runMakeSecret } from './run-make-secret.mjs';
import { findMissing } from './what-pods-need.mjs';

const INTERVAL_MS = 150;
const CAPACITY = { cpu: '64', memory: '256Gi', pods: '500', 'ephemeral-storage': '500Gi' };
const COMPONENT = 'app.kubernetes.io/component';
const NAME = 'app.kubernetes.io/name';

/**
 * A stand-in for kubelets, one for each node. It runs no containers. Like a kubelet it starts a pod only if the
 * Secrets and ConfigMaps are there that the pod needs; unlike one it knows what the containers would do: the Job that makes the
 * Secret is run, a migration does what `migrations` answers, and a service is ready when a migration of its namespace has ended.
 */
export class Nodes {
  /** What each pod waits for, by namespace/name. */
  waiting = new Map();
  #cluster;
  #names;
  #migrated = new Set();
  #running = new Map();
  #isStopped = false;
  #loop;
  #addresses = 0;
  /** By namespace: answers whether a migration succeeds, (pod) => boolean or a promise. Without one, it does. */
  migrations = new Map();

  constructor(cluster, names = ['node-a', 'node-b', 'node-c']) {
    this.#cluster = cluster;
    this.#names = names;
  }

  async start() {
    for (const [index, name] of this.#names.entries()) {
      const labels = {
        'kubernetes.io/hostname': name,
        'topology.kubernetes.io/zone': `zone-${index}`,
        'kubernetes.io/os': 'linux',
      };
      await this.#cluster.api.create('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
      const conditions = [{ type: 'Ready', status: 'True', reason: 'StandIn' }];
      await this.#cluster.api.patch(`/api/v1/nodes/${name}/status`, {
        status: { capacity: CAPACITY, allocatable: CAPACITY, conditions },
      });
      // The node controller, which is off, would remove the taint of a new node.
      await this.#cluster.api.patch(`/api/v1/nodes/${name}`, { spec: { taints: null } });
    }
    this.#loop = this.#work();
  }

  async stop() {
    this.#isStopped = true;
    await this.#loop;
    await Promise.allSettled(this.#running.values());
  }

  async #work() {
    while (!this.#isStopped) {
      await this.#makeVolumes();
      const pods = await this.#cluster.api.list('/api/v1/pods');
      const present = new Set(pods.map((pod) => pod.metadata.uid));
      for (const uid of this.#running.keys()) if (!present.has(uid)) this.#running.delete(uid);
      const ours = pods.filter(({ spec }) => this.#names.includes(spec.nodeName));
      await Promise.all(ours.map((pod) => this.#handle(pod)));
      await wait(INTERVAL_MS);
    }
  }

  /** A pod or claim that is gone meanwhile is no error. */
  async #attempt(work) {
    try {
      await work();
    } catch (error) {
      if (![404, 409].includes(error.status)) throw error;
    }
  }

  async #makeVolumes() {
    const claims = await this.#cluster.api.list('/api/v1/persistentvolumeclaims');
    for (const { metadata, spec, status } of claims) {
      if (status.phase === 'Bound' || metadata.deletionTimestamp !== undefined) continue;
      const volume = {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: `volume-${metadata.uid}` },
        spec: {
          capacity: spec.resources.requests,
          accessModes: spec.accessModes,
          storageClassName: spec.storageClassName ?? '',
          hostPath: { path: `/volumes/${metadata.uid}` },
          claimRef: { namespace: metadata.namespace, name: metadata.name, uid: metadata.uid },
        },
      };
      await this.#attempt(() => this.#cluster.api.create('/api/v1/persistentvolumes', volume));
    }
  }

  async #handle(pod) {
    const { metadata, status } = pod;
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
    if (metadata.deletionTimestamp !== undefined) {
      await this.#attempt(() => this.#cluster.api.remove(path, { gracePeriodSeconds: 0 }));
      return;
    }
    if (['Succeeded', 'Failed'].includes(status.phase)) return;
    if (!this.#running.has(metadata.uid)) {
      const missing = await findMissing(this.#cluster.api, pod);
      const key = `${metadata.namespace}/${metadata.name}`;
      if (missing.length > 0) {
        this.waiting.set(key, missing);
        return;
      }
      this.waiting.delete(key);
      this.#running.set(metadata.uid, this.#run(pod, path));
      return;
    }
    const isReady = metadata.labels[COMPONENT] !== 'service' || this.#migrated.has(metadata.namespace);
    const wasReady = status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
    if (pod.spec.restartPolicy === 'Always' && isReady && !wasReady) {
      await this.#attempt(() => this.#report(pod, path, { phase: 'Running', isReady: true }));
    }
  }

  async #run(pod, path) {
    await this.#attempt(async () => {
      const isJob = pod.spec.restartPolicy !== 'Always';
      await this.#report(pod, path, { phase: 'Running', isReady: false });
      if (!isJob) return;
      const { isSuccess, log } = await this.#outcome(pod);
      await this.#report(pod, path, { phase: isSuccess ? 'Succeeded' : 'Failed', isReady: false, log });
    });
  }

  /** What the container of a Job or a test would do. */
  async #outcome(pod) {
    const name = pod.metadata.labels[NAME];
    if (name === 'make-secret') return runMakeSecret(this.#cluster, pod);
    if (name !== 'migrate') return { isSuccess: true, log: '' };
    const { namespace } = pod.metadata;
    const isSuccess = await (this.migrations.get(namespace) ?? (() => true))(pod);
    if (isSuccess) this.#migrated.add(namespace);
    return { isSuccess, log: isSuccess ? 'migrated' : 'the migration failed' };
  }

  #report(pod, path, { phase, isReady, log }) {
    const now = new Date().toISOString();
    this.#addresses += 1;
    const ended = phase === 'Succeeded' || phase === 'Failed';
    const state = ended
      ? { terminated: { exitCode: phase === 'Failed' ? 1 : 0, reason: phase, message: log, finishedAt: now } }
      : { running: { startedAt: now } };
    const condition = (type, is) => ({ type, status: is ? 'True' : 'False', lastTransitionTime: now });
    const status = {
      phase,
      startTime: pod.status.startTime ?? now,
      podIP: pod.status.podIP ?? `10.1.${Math.floor(this.#addresses / 250)}.${(this.#addresses % 250) + 1}`,
      conditions: [
        condition('PodScheduled', true),
        condition('Initialized', true),
        condition('ContainersReady', isReady),
        condition('Ready', isReady),
      ],
      containerStatuses: pod.spec.containers.map(({ name, image }) => ({
        name,
        image,
        imageID: image,
        restartCount: 0,
        ready: isReady,
        started: !ended,
        state,
      })),
    };
    return this.#cluster.api.patch(`${path}/status`, { status });
  }
}
