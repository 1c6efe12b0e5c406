const EVERY_MS = 1_000;
const WORK_MS = 15;

/**
 * How much longer work takes here than on a machine with nothing else to do: once a second 15 ms of it, from when it was
 * due until it was done. 1 on a quiet machine; limits in milliseconds are multiplied by it.
 */
export class Slowness {
  private timer: NodeJS.Timeout | undefined;
  private workedMs = 0;
  private tookMs = 0;

  constructor() {
    this.lookLater();
  }

  get factor(): number {
    return this.workedMs === 0 ? 1 : Math.max(1, this.tookMs / this.workedMs);
  }

  close(): void {
    clearTimeout(this.timer);
  }

  private lookLater(): void {
    const due = performance.now() + EVERY_MS;
    this.timer = setTimeout(() => {
      this.work(due);
      this.lookLater();
    }, EVERY_MS).unref();
  }

  private work(due: number): void {
    const cpuAtStart = process.cpuUsage();
    let workedMs = 0;
    while (workedMs < WORK_MS) {
      const { user, system } = process.cpuUsage(cpuAtStart);
      workedMs = (user + system) / 1_000;
    }
    this.workedMs += workedMs;
    this.tookMs += Math.max(workedMs, performance.now() - due);
  }
}
