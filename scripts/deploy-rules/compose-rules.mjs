/**
 * Returns rule violations of docker-compose.yml. `doc` is the parsed file with merged anchors. `world` reports what
 * exists: `file(path)`, `documented(variable)`.
 */
export function composeProblems(doc, text, world) {
  const services = Object.entries(doc.services ?? {});
  return [
    ...services.flatMap(([name, service]) => serviceProblems(name, service)),
    ...services.flatMap(([name, service]) => fileProblems(name, service, world)),
    ...services.flatMap(([name, service]) => loginProblems(name, service)),
    ...portProblems(services),
    ...variableProblems(text, services, world),
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
function loginProblems(name, { build, environment = {} }) {
  if (!build) return [];
  const own = name.replaceAll('-', '_').toUpperCase();
  const [database, nats] =
    name === 'migrate'
      ? ['agentlens:${POSTGRES_PASSWORD', 'agentlens:nats${NATS_PASSWORD']
      : [`agentlens_${own.toLowerCase()}:\${${own}_DATABASE_PASSWORD`, `${name}:nats\${${own}_NATS_PASSWORD`];
  const begins = (variable, text) =>
    String(environment[variable]).startsWith(text) ? [] : [`services.${name}: ${variable} must begin with ${text}`];
  const others = Object.values(environment).filter((value) => /\$\{\w*(?:DATABASE|POSTGRES|NATS)_PASSWORD/.test(value));
  return [
    ...begins('DATABASE_URL', `postgres://${database}`),
    ...begins('NATS_URL', `nats://${nats}`),
    ...(name === 'migrate' || others.length === 2 ? [] : [`services.${name}: must have its own passwords only`]),
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
    .filter((variable) => !world.documented(variable))
    .map((variable) => `${variable} is not documented in .env.example`);
}
