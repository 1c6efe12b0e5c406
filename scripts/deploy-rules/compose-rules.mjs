/**
 * Returns rule violations of docker-compose.yml. `doc` is the parsed file with merged anchors. `world` reports what
 * exists: `file(path)`, and `documented`, the names of all variables in .env.example.
 */
export function composeProblems(doc, text, world) {
  const services = Object.entries(doc.services ?? {});
  return [
    ...services.flatMap(([name, service]) => serviceProblems(name, service)),
    ...services.flatMap(([name, service]) => fileProblems(name, service, world)),
    ...services.flatMap(([name, service]) => loginProblems(name, service)),
    ...portProblems(services),
    ...variableProblems(text, services, world),
    ...unreachedProblems(text, services, world),
  ];
}

/** Only these may run as user 0. The file gives the reason. */
const ROOT_ALLOWED = ['nats'];
/** These exit on their own, or have no tool for a health check in their image. */
const NO_HEALTHCHECK = ['migrate', 'otel-collector'];

function serviceProblems(name, service) {
  const problems = [];
  const must = (holds, what) => {
    if (!holds) problems.push(`services.${name}: ${what}`);
  };
  const { limits = {} } = service.deploy?.resources ?? {};
  must(service.image && !/:latest$/.test(service.image), 'image must be pinned to a version');
  must(service.read_only === true, 'read_only must be true; declare writable paths as tmpfs or volume');
  must(service.cap_drop?.includes('ALL'), 'cap_drop must be [ALL]');
  must(!service.cap_add && service.privileged !== true, 'must not have capabilities or privileges');
  must(service.security_opt?.includes('no-new-privileges:true'), 'security_opt must have no-new-privileges:true');
  must(limits.cpus && limits.memory, 'deploy.resources.limits must have cpus and memory');
  must(/^\d+:\d+$/.test(service.user ?? ''), 'user must be a number pair such as "10001:10001"');
  must(ROOT_ALLOWED.includes(name) || !/^0:/.test(service.user ?? ''), 'must not run as root');
  must(NO_HEALTHCHECK.includes(name) || service.healthcheck?.test, 'healthcheck is missing');
  must(service.restart, 'restart is missing');
  return problems;
}

function fileProblems(name, service, world) {
  const problems = [];
  for (const volume of service.volumes ?? []) {
    const [source] = String(volume).split(':');
    if (source.startsWith('.') && !world.file(source)) problems.push(`services.${name}: ${source} does not exist`);
  }
  if (!service.build) return problems;
  const folder = `services/${service.build.args?.SERVICE}`;
  if (!world.file(service.build.dockerfile))
    problems.push(`services.${name}: ${service.build.dockerfile} does not exist`);
  if (!world.file(folder)) problems.push(`services.${name}: build.args.SERVICE: ${folder} does not exist`);
  return problems;
}

/** A service logs in to Postgres and NATS as itself. Only the migration job has the logins with more rights. */
function loginProblems(name, { build, environment = {}, secrets = [] }) {
  const shown = Object.entries(environment)
    .filter(([, value]) => /\$\{\w*(?:PASSWORD|KEY|TOKEN)\b/.test(value))
    .map(([variable]) => `services.${name}: ${variable} must be a secret, because docker inspect shows variables`);
  if (!build) return shown;
  const own = name.replaceAll('-', '_');
  const [user, natsUser, wanted] =
    name === 'migrate'
      ? ['agentlens', 'agentlens', ['postgres_password', 'nats_password']]
      : [`agentlens_${own}`, name, [`${own}_database_password`, `${own}_nats_password`]];
  const begins = (variable, start) =>
    String(environment[variable]).startsWith(start) ? [] : [`services.${name}: ${variable} must begin with ${start}`];
  const mounted = secrets.map((secret) => (typeof secret === 'string' ? { source: secret } : secret));
  const as = (target) => mounted.find((secret) => (secret.target ?? secret.source) === target)?.source;
  const foreign = mounted.filter(
    ({ source, target }) => ![...wanted, 'redis_password', 'secret_key'].includes(source) && !/logins/.test(target),
  );
  return [
    ...shown,
    ...begins('DATABASE_URL', `postgres://${user}@`),
    ...begins('NATS_URL', `nats://${natsUser}@`),
    ...(as('database_password') === wanted[0] && as('nats_password') === wanted[1]
      ? []
      : [`services.${name}: must have its own passwords, ${wanted.join(' and ')}`]),
    ...foreign.map(({ source }) => `services.${name}: must not have the secret ${source}`),
  ];
}

/** Only the edge publishes a port, and every published port names its address. */
function portProblems(services) {
  return services.flatMap(([name, { ports = [], profiles = [] }]) => {
    const problems = [];
    if (ports.length > 0 && name !== 'edge' && profiles.length === 0) {
      problems.push(`services.${name}: only "edge" may publish a port`);
    }
    for (const port of ports) {
      if (!/^(\$\{\w+:-[\d.]+\}|[\d.]+):(\$\{\w+:-\d+\}|\d+):\d+$/.test(port)) {
        problems.push(`services.${name}: port "${port}" must name its address, as in "127.0.0.1:3400:8080"`);
      }
    }
    return problems;
  });
}

function variableProblems(text, services, world) {
  const substituted = [...text.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, variable]) => variable);
  const passed = services.flatMap(([, { environment = {} }]) => Object.keys(environment));
  const ours = passed.filter((variable) => variable.startsWith('AGENTLENS_'));
  return [...new Set([...substituted, ...ours])]
    .filter((variable) => !world.documented.includes(variable))
    .map((variable) => `${variable} is not documented in .env.example`);
}

/** Variables that the file decides, or that only other forms of deployment need. */
const NOT_PASSED =
  /^AGENTLENS_(BUS|STATE|DATA_DIR|MIGRATE|HTTP_HOST|NATS_REPLICAS|DATABASE_PASSWORDS|SECRET_KEY)$|^(NATS|REDIS|DATABASE)_|_FILE$/;

/** A documented variable that no container receives would have no effect in .env. */
function unreachedProblems(text, services, world) {
  const passed = new Set(services.flatMap(([, { environment = {} }]) => Object.keys(environment)));
  return world.documented
    .filter((variable) => !passed.has(variable) && !text.includes(`\${${variable}:`) && !NOT_PASSED.test(variable))
    .map((variable) => `${variable} is documented in .env.example, but no service receives it`);
}
