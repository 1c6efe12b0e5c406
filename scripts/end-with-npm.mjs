// npm starts a script in a shell, and some shells end by a signal without handing it on. The script then ends as well.
const parent = process.ppid;

if (process.env.npm_lifecycle_event !== undefined && process.platform !== 'win32') {
  const look = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(look);
    process.kill(process.pid, 'SIGTERM');
  }, 500);
  look.unref();
}
