import { join, resolve } from 'node:path';
import { own } from '#domain/foundation/kernel/own.ts';
import { LaunchError } from './errors.ts';
import type { WantedPort } from './ports.ts';

export interface Settings {
  dataDirectory: string;
  ports: { gateway: number; worker: number; temporal: number; temporalUi: number; postgres: number };
  /** An administrator's URL of an external PostgreSQL server. */
  databaseUrl: string | undefined;
  temporalAddress: string | undefined;
  temporalUiUrl: string | undefined;
  logLevel: string;
  /** Demo data goes into an external database only when asked for. */
  seedsDemo: boolean;
}

export function readSettings(env: NodeJS.ProcessEnv, args: readonly string[], checkout: string): Settings {
  const unknown = args.find((arg) => arg !== '--demo');
  if (unknown !== undefined) throw new LaunchError(`Unknown option ${unknown}: the only one is --demo.`);
  const databaseUrl = env['DATABASE_URL'] || undefined;
  if (databaseUrl !== undefined && !isDatabaseUrl(databaseUrl)) {
    throw new LaunchError(
      'DATABASE_URL is not a URL of the form postgres://user:password@host:port/database.',
    );
  }
  return {
    dataDirectory: resolve(env['PLATFORM_DATA_DIR'] || join(checkout, '.data')),
    ports: {
      gateway: readPort(env, 'PORT', 8080),
      worker: readPort(env, 'WORKER_PORT', 8081),
      temporal: readPort(env, 'TEMPORAL_PORT', 7233),
      temporalUi: readPort(env, 'TEMPORAL_UI_PORT', 8233),
      postgres: readPort(env, 'POSTGRES_PORT', 5439),
    },
    databaseUrl,
    temporalAddress: env['TEMPORAL_ADDRESS'] || undefined,
    temporalUiUrl: env['TEMPORAL_UI_URL'] || undefined,
    logLevel: env['LOG_LEVEL'] || 'info',
    seedsDemo: databaseUrl === undefined || args.includes('--demo'),
  };
}

/** A host is required, also beside `?host=<folder of a socket>`: a URL without a host can name no user. */
function isDatabaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^postgres(ql)?:$/.test(url.protocol) && url.hostname !== '';
}

export function wantedPorts({ ports, databaseUrl, temporalAddress }: Settings): WantedPort[] {
  return [
    { port: ports.gateway, owner: 'the gateway', variable: 'PORT' },
    { port: ports.worker, owner: 'the worker', variable: 'WORKER_PORT' },
    ...(temporalAddress === undefined
      ? [
          { port: ports.temporal, owner: 'the Temporal server', variable: 'TEMPORAL_PORT' },
          { port: ports.temporalUi, owner: 'the Temporal UI', variable: 'TEMPORAL_UI_PORT' },
        ]
      : []),
    ...(databaseUrl === undefined
      ? [{ port: ports.postgres, owner: 'PostgreSQL', variable: 'POSTGRES_PORT' }]
      : []),
  ];
}

function readPort(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const text = own(env, name);
  if (!text) return otherwise;
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new LaunchError(`${name} must be a port from 1 to 65535, not "${text}".`);
  return port;
}
