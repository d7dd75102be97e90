import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { environmentOf, sourceOf, type Service } from '../support/compose.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const standIns = fileURLToPath(new URL('./stand-ins', import.meta.url));

/** The differences on the host: only the addresses of the servers. */
export interface HostPlaces {
  folder: string;
  postgresPort: number;
  temporalPort: number;
  /** Folders of the programs that the images contain. */
  programs: readonly string[];
  /** The values of `.env`. */
  env: Record<string, string>;
}

export interface Running {
  name: string;
  /** The last lines that the service wrote. */
  tail(): string;
  pid: number;
  /** Its actual port in place of the port in the file. */
  port: number;
  /** Exit code of the service's own health check. */
  health(): Promise<number>;
  kill(): Promise<void>;
  /** As `docker compose stop` does; the exit code, and whether it came within the grace period. */
  stop(): Promise<{ code: number | null; inTime: boolean }>;
}

/** The services of the compose file by their own commands, environments and health checks, as processes here. */
export class HostServices {
  readonly #services: Record<string, Service>;
  readonly #places: HostPlaces;
  readonly #running = new Set<Running>();

  constructor(services: Record<string, Service>, places: HostPlaces) {
    this.#services = services;
    this.#places = places;
  }

  /** Runs a service that ends by itself. @returns its exit code */
  async runOnce(name: string): Promise<number> {
    const service = this.#service(name);
    const child = this.#spawn(name, this.#commandOf(service), this.#environment(service));
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? 1;
  }

  /** Exit code of the health check of an external service on that port. */
  health(name: string, port: number): Promise<number> {
    const service = this.#service(name);
    return this.#check(service, this.#environment(service, port), port);
  }

  /**
   * One replica of a long-running service. `command` is its image's command where the file names none,
   * `mounts` are files that differ here from those that the file mounts.
   */
  launch(
    name: string,
    options: {
      port: number;
      command?: string[];
      mounts?: Record<string, string>;
      extra?: Record<string, string>;
    },
  ): Running {
    const service = this.#service(name);
    const { port, mounts = {}, extra = {} } = options;
    const env = { ...this.#environment(service, port), ...extra };
    const child = this.#spawn(name, options.command ?? this.#commandOf(service, mounts), env);
    const exited = once(child, 'exit') as Promise<[number | null]>;
    const running: Running = {
      name,
      tail: () => readFileSync(this.#logOf(name), 'utf8').slice(-2_000),
      port,
      pid: child.pid!,
      health: () => this.#check(service, env, port),
      kill: async () => {
        this.#running.delete(running);
        child.kill('SIGKILL');
        await exited;
      },
      stop: async () => {
        this.#running.delete(running);
        child.kill('SIGTERM');
        const graceMs = Number.parseInt(service.stop_grace_period ?? '10s', 10) * 1_000;
        const inTime = await Promise.race([exited.then(() => true), sleep(graceMs, false, { ref: false })]);
        if (!inTime) child.kill('SIGKILL');
        const [code] = await exited;
        return { code, inTime };
      },
    };
    this.#running.add(running);
    return running;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map((each) => each.kill()));
  }

  #service(name: string): Service {
    const service = this.#services[name];
    if (!service) throw new Error(`docker-compose.yml has no service ${name}`);
    return service;
  }

  #commandOf(service: Service, mounts: Record<string, string> = {}): string[] {
    const words = [...(service.entrypoint ?? []), ...(service.command ?? [])];
    return words.map((word) => mounts[word] ?? this.#path(service, word));
  }

  #path(service: Service, word: string): string {
    if (!word.startsWith('/deploy/')) return word;
    const source = sourceOf(service, word);
    if (source === undefined) throw new Error(`${word} is mounted from nowhere`);
    return join(checkout, source);
  }

  #environment(service: Service, port?: number): Record<string, string> {
    const { postgresPort, temporalPort, env, programs } = this.#places;
    const here: Record<string, string> = {
      postgres: '127.0.0.1',
      '5432': String(postgresPort),
      'temporal:7233': `127.0.0.1:${temporalPort}`,
      '0.0.0.0': '127.0.0.1',
      ...(port === undefined ? {} : { '8080': String(port), '8081': String(port) }),
    };
    const given = Object.entries(environmentOf(service, env)).map(([name, value]) => [
      name,
      here[value] ?? this.#path(service, value.replace('@postgres:5432/', `@127.0.0.1:${postgresPort}/`)),
    ]);
    const path = [...programs, process.env['PATH'], standIns].join(delimiter);
    return { PATH: path, HOME: process.env['HOME'] ?? '/', ...Object.fromEntries(given) };
  }

  #check(service: Service, env: Record<string, string>, port: number): Promise<number> {
    const [kind, program = '', ...args] = service.healthcheck?.test ?? [];
    if (kind !== 'CMD') throw new Error('a health check of another kind');
    const timeout = Number.parseInt(service.healthcheck?.timeout ?? '30s', 10) * 1_000;
    const here = args.map((arg) =>
      arg.replace(/127\.0\.0\.1:\d+\//, `127.0.0.1:${port}/`).replace(/^7233$/, String(port)),
    );
    return new Promise((resolve) => {
      // The port for PostgreSQL's own programs, which is not in the file.
      execFile(program, here, { env: { ...env, PGPORT: String(port) }, timeout }, (error) =>
        resolve(error === null ? 0 : Number(error.code) || 1),
      );
    });
  }

  #logOf(name: string): string {
    return join(this.#places.folder, `${name}.log`);
  }

  #spawn(name: string, [program = '', ...args]: string[], env: Record<string, string>) {
    const log = openSync(this.#logOf(name), 'a');
    const child = spawn(program, args, { cwd: checkout, env, stdio: ['ignore', log, log] });
    const abandon = () => void child.kill('SIGKILL');
    process.once('exit', abandon);
    child.once('exit', () => process.off('exit', abandon));
    return child;
  }
}

/** Waits as Docker does before it starts what depends on the service. */
export async function untilHealthy(
  running: Pick<Running, 'name' | 'health' | 'tail'>,
  withinMs = 60_000,
): Promise<void> {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; await sleep(200))
    if ((await running.health()) === 0) return;
  throw new Error(`${running.name} was not healthy in time:\n${running.tail()}`);
}
