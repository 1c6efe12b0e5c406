// npm starts a script in a shell, and some shells exit on a signal without forwarding it. This ends the script when the
// shell is gone.
const parent = process.ppid;

if (process.env.npm_lifecycle_event !== undefined && process.platform !== 'win32') {
  const look = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(look);
    process.kill(process.pid, 'SIGTERM');
  }, 500);
  look.unref();
}
