import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Service {
  image: string;
  build?: string;
  command?: string[];
  entrypoint?: string[];
  environment?: Record<string, string | null>;
  volumes?: string[];
  ports?: string[];
  networks: string[];
  depends_on?: Record<string, { condition: string }>;
  deploy?: { replicas: number };
  healthcheck?: { test: string[]; timeout?: string; retries?: number };
  restart: string;
  stop_grace_period?: string;
}

export interface ComposeFile {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean }>;
}

export function readCompose(): { text: string; file: ComposeFile } {
  const text = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
  return { text, file: parse(text, { merge: true }) as ComposeFile };
}

const VARIABLE = /\$\{(?<name>\w+)(?:(?<operator>:[-?])(?<rest>[^}]*))?\}/g;

export interface Variable {
  name: string;
  required: boolean;
}

export function variablesOf(text: string): Variable[] {
  return [...text.matchAll(VARIABLE)].map(({ groups }) => ({
    name: groups!['name']!,
    required: groups!['operator'] === ':?',
  }));
}

/** As Docker Compose does: `${NAME:?message}` refuses an empty value, `${NAME:-default}` replaces it. */
export function interpolate(text: string, env: Record<string, string>): string {
  return text.replaceAll(VARIABLE, (_all, name: string, operator?: string, rest = '') => {
    const value = env[name] ?? '';
    if (value !== '') return value;
    if (operator === ':?') throw new Error(`${name}: ${rest}`);
    return rest;
  });
}

/** The environment of a container; a name without a value is passed on where the host has one. */
export function environmentOf(service: Service, env: Record<string, string>): Record<string, string> {
  const entries = Object.entries(service.environment ?? {}).flatMap(([name, value]): [string, string][] => {
    if (value !== null) return [[name, interpolate(value, env)]];
    return env[name] === undefined ? [] : [[name, env[name]]];
  });
  return Object.fromEntries(entries);
}

/** Every service that is up or done before the service starts. */
export function dependenciesOf(
  services: Record<string, Service>,
  name: string,
  path: readonly string[] = [],
): Set<string> {
  if (path.includes(name)) throw new Error(`a circle: ${[...path, name].join(' → ')}`);
  const service = services[name];
  if (!service) throw new Error(`${path.at(-1)} waits for ${name}, which is no service`);
  const found = new Set<string>();
  for (const next of Object.keys(service.depends_on ?? {})) {
    found.add(next);
    for (const further of dependenciesOf(services, next, [...path, name])) found.add(further);
  }
  return found;
}

export function sharesNetwork(one: Service, other: Service): boolean {
  return one.networks.some((network) => other.networks.includes(network));
}

/** Where a path in the container comes from, relative to the checkout: a mount, or for our image the checkout. */
export function sourceOf(service: Service, path: string): string | undefined {
  if (!path.startsWith('/')) return service.build === '.' ? path : undefined;
  for (const volume of service.volumes ?? []) {
    const [source = '', target = ''] = volume.split(':');
    if (path.startsWith(`${target}/`)) return `${source.replace(/^\.\//, '')}${path.slice(target.length)}`;
  }
  return undefined;
}
